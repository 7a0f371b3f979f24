// The dtype that fused kernels compute in, whatever their tensors have.
#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// float32, or float64 for float64.
inline at::ScalarType computeType(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace softcann::aclnn
