// Activations that split their input into two halves along one dimension, and gelu's fast form.
#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// silu(first half) * second half
void swiGlu(const at::Tensor& x, int64_t dim, at::Tensor& out);
void swiGluGrad(const at::Tensor& dy, const at::Tensor& x, int64_t dim, at::Tensor& out);

// x * sigmoid(1.702 x)
void fastGelu(const at::Tensor& self, at::Tensor& out);
void fastGeluGrad(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out);

}  // namespace softcann::aclnn
