// Root mean square normalisation and what is fused with it. Sums run in float32 (float64 for
// float64) whatever the tensors' dtype. Normalised are the last dimensions, as many as gamma has.
#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// y = x / sqrt(mean(x^2) + epsilon) * (offset + gamma); rstd is the reciprocal root.
void rmsNorm(const at::Tensor& x, const at::Tensor& gamma, double epsilon, at::Tensor& y,
             const at::Tensor& rstd, double offset = 0.0);
void rmsNormGrad(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& rstd,
                 const at::Tensor& gamma, at::Tensor& dx, at::Tensor& dgamma);
// x = x1 + x2, rounded to its dtype, then rmsNorm(x).
void addRmsNorm(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, double epsilon,
                at::Tensor& y, const at::Tensor& rstd, at::Tensor& x);

}  // namespace softcann::aclnn
