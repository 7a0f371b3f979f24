// CANN's numbers for what ATen spells out or leaves out.
#pragma once

#include <c10/util/Exception.h>

#include <cstdint>
#include <optional>
#include <string_view>

namespace softcann::aclnn {

// How much of a QR decomposition to compute: 0 reduced, 1 complete, 2 only R.
inline std::string_view qrMode(int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 2, "qr's mode is 0, 1 or 2, got ", mode);
  constexpr std::string_view kNames[] = {"reduced", "complete", "r"};
  return kNames[mode];
}

// A scale of resampling; 0 for none given.
inline std::optional<double> optionalScale(double scale) {
  return scale == 0 ? std::nullopt : std::optional<double>(scale);
}

// A bound that is negative for none.
inline std::optional<double> nonNegative(double bound) {
  return bound < 0 ? std::nullopt : std::optional<double>(bound);
}

}  // namespace softcann::aclnn
