// The generator of an operator call.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Device.h>

#include <optional>

#include "torch_npu/csrc/core/npu_generator.h"

namespace torch_npu {

// The generator to draw from: `given`, or the default one of `device`. That is the device of the
// operator's tensors; the current device may be another.
inline std::optional<at::Generator> generatorFor(const std::optional<at::Generator>& given,
                                                 c10::Device device) {
  if (given.has_value() && given->defined()) return given;
  return getDefaultNPUGenerator(device.index());
}

}  // namespace torch_npu
