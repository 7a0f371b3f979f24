// The random state of one operator call.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <optional>

namespace torch_npu {

// Where CANN starts in the generator's sequence; its functions take both as int64_t.
struct RandomState {
  int64_t seed;
  int64_t offset;
};

// Reserves `count` numbers of `generator`, or of the current device's default generator.
RandomState drawRandom(const std::optional<at::Generator>& generator, int64_t count);

}  // namespace torch_npu
