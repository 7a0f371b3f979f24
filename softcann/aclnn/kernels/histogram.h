// How histograms' ranges come: as a list of scalars.
#pragma once

#include <c10/core/Scalar.h>
#include <c10/util/ArrayRef.h>

#include <optional>
#include <vector>

namespace softcann::aclnn {

inline std::vector<double> numbers(at::ArrayRef<at::Scalar> scalars) {
  std::vector<double> result;
  result.reserve(scalars.size());
  for (const at::Scalar& scalar : scalars) {
    result.push_back(scalar.toDouble());
  }
  return result;
}

// An empty list as none at all.
inline std::optional<at::ArrayRef<double>> orNone(const std::vector<double>& numbers) {
  return numbers.empty() ? std::nullopt : std::optional<at::ArrayRef<double>>(numbers);
}

}  // namespace softcann::aclnn
