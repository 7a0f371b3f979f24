// Batch, layer and group normalisation. Outputs that the caller leaves out are undefined tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

using OptionalTensorRef = const std::optional<at::Tensor>&;

void batchNorm(const at::Tensor& input, OptionalTensorRef weight, OptionalTensorRef bias,
               const at::Tensor& running_mean, const at::Tensor& running_var, bool training,
               double momentum, double eps, at::Tensor& output, at::Tensor& save_mean,
               at::Tensor& save_invstd);

void batchNormBackward(const at::Tensor& grad_out, const at::Tensor& input,
                       OptionalTensorRef weight, OptionalTensorRef running_mean,
                       OptionalTensorRef running_var, OptionalTensorRef save_mean,
                       OptionalTensorRef save_invstd, bool training, double eps,
                       at::ArrayRef<bool> mask, const at::Tensor& grad_input,
                       const at::Tensor& grad_weight, const at::Tensor& grad_bias);

void layerNorm(const at::Tensor& input, at::IntArrayRef normalized_shape, OptionalTensorRef weight,
               OptionalTensorRef bias, double eps, at::Tensor& out, const at::Tensor& mean,
               const at::Tensor& rstd);

void layerNormBackward(const at::Tensor& grad_out, const at::Tensor& input,
                       at::IntArrayRef normalized_shape, const at::Tensor& mean,
                       const at::Tensor& rstd, OptionalTensorRef weight, OptionalTensorRef bias,
                       at::ArrayRef<bool> mask, const at::Tensor& grad_input,
                       const at::Tensor& grad_weight, const at::Tensor& grad_bias);

void groupNorm(const at::Tensor& input, OptionalTensorRef weight, OptionalTensorRef bias, int64_t n,
               int64_t channels, int64_t hxw, int64_t groups, double eps, at::Tensor& out,
               at::Tensor& mean, at::Tensor& rstd);

void groupNormBackward(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
                       const at::Tensor& rstd, OptionalTensorRef weight, int64_t n,
                       int64_t channels, int64_t hxw, int64_t groups, at::ArrayRef<bool> mask,
                       const at::Tensor& grad_input, const at::Tensor& grad_weight,
                       const at::Tensor& grad_bias);

}  // namespace softcann::aclnn
