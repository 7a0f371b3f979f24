#include "aclnn/kernels/normalization.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <ATen/ops/native_group_norm.h>
#include <ATen/ops/native_group_norm_backward.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>

#include "aclnn/core/parameters.h"
#include "aclnn/kernels/common.h"

namespace softcann::aclnn {

namespace {

std::optional<at::Tensor> optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

// ATen's CPU kernels want statistics in the parameters' dtype; CANN's callers keep them in float32.
at::ScalarType statisticsType(const at::Tensor& input, OptionalTensorRef weight,
                              const std::optional<at::Tensor>& running_mean = std::nullopt) {
  if (weight.has_value()) {
    return weight->scalar_type();
  }
  return running_mean.has_value() ? running_mean->scalar_type() : input.scalar_type();
}

std::optional<at::Tensor> cast(OptionalTensorRef tensor, at::ScalarType type) {
  return tensor.has_value() ? std::optional<at::Tensor>(tensor->to(type)) : std::nullopt;
}

// ATen's CPU kernels read them whatever their sizes are. In inference there may be no saved ones.
void requirePerChannel(const char* name, OptionalTensorRef tensor, const at::Tensor& input) {
  if (!tensor.has_value() || tensor->numel() == 0) {
    return;
  }
  TORCH_CHECK(input.dim() >= 2 && tensor->dim() == 1 && tensor->size(0) == input.size(1),
              "expected ", name, " of one element for each channel of an input of ", input.sizes(),
              ", but got ", tensor->sizes());
}

void giveAll(const std::tuple<at::Tensor, at::Tensor, at::Tensor>& values, const at::Tensor& first,
             const at::Tensor& second, const at::Tensor& third) {
  give(first, std::get<0>(values));
  give(second, std::get<1>(values));
  give(third, std::get<2>(values));
}

}  // namespace

void batchNorm(const at::Tensor& input, OptionalTensorRef weight, OptionalTensorRef bias,
               const at::Tensor& running_mean, const at::Tensor& running_var, bool training,
               double momentum, double eps, at::Tensor& output, at::Tensor& save_mean,
               at::Tensor& save_invstd) {
  const std::optional<at::Tensor> mean = optional(running_mean);
  const std::optional<at::Tensor> variance = optional(running_var);
  const at::ScalarType type = statisticsType(input, weight, mean);
  if (training && !input.is_contiguous()) {
    // ATen's out form is wrong for such an input.
    giveAll(at::native_batch_norm(input, weight, bias, mean, variance, training, momentum, eps),
            output, save_mean, save_invstd);
    return;
  }
  // Inference saves no statistics; whatever room the caller gave for them stays as it is.
  const bool direct = training && save_mean.scalar_type() == type;
  at::Tensor saved_mean = direct ? save_mean : at::empty({0}, save_mean.options().dtype(type));
  at::Tensor saved_invstd =
      direct ? save_invstd : at::empty({0}, save_invstd.options().dtype(type));
  at::native_batch_norm_out(output, saved_mean, saved_invstd, input, weight, bias, mean, variance,
                            training, momentum, eps);
  if (training && !direct) {
    save_mean.copy_(saved_mean);
    save_invstd.copy_(saved_invstd);
  }
}

void batchNormBackward(const at::Tensor& grad_out, const at::Tensor& input,
                       OptionalTensorRef weight, OptionalTensorRef running_mean,
                       OptionalTensorRef running_var, OptionalTensorRef save_mean,
                       OptionalTensorRef save_invstd, bool training, double eps,
                       at::ArrayRef<bool> mask, const at::Tensor& grad_input,
                       const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  TORCH_CHECK(grad_out.sizes() == input.sizes(), "expected gradOut of ", input.sizes(),
              ", as input is, but got ", grad_out.sizes());
  requirePerChannel("weight", weight, input);
  requirePerChannel("runningMean", running_mean, input);
  requirePerChannel("runningVar", running_var, input);
  requirePerChannel("saveMean", save_mean, input);
  requirePerChannel("saveInvstd", save_invstd, input);
  TORCH_CHECK(!training || (save_mean.has_value() && save_mean->numel() == input.size(1) &&
                            save_invstd.has_value() && save_invstd->numel() == input.size(1)),
              "expected saveMean and saveInvstd of one element for each channel in training");
  const at::ScalarType type = statisticsType(input, weight, running_mean);
  giveAll(at::native_batch_norm_backward(grad_out, input, weight, running_mean, running_var,
                                         cast(save_mean, type), cast(save_invstd, type), training,
                                         eps, toMask<3>(mask)),
          grad_input, grad_weight, grad_bias);
}

void layerNorm(const at::Tensor& input, at::IntArrayRef normalized_shape, OptionalTensorRef weight,
               OptionalTensorRef bias, double eps, at::Tensor& out, const at::Tensor& mean,
               const at::Tensor& rstd) {
  giveAll(at::native_layer_norm(input, normalized_shape, weight, bias, eps), out, mean, rstd);
}

void layerNormBackward(const at::Tensor& grad_out, const at::Tensor& input,
                       at::IntArrayRef normalized_shape, const at::Tensor& mean,
                       const at::Tensor& rstd, OptionalTensorRef weight, OptionalTensorRef bias,
                       at::ArrayRef<bool> mask, const at::Tensor& grad_input,
                       const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  const at::ScalarType type = statisticsType(input, weight);
  giveAll(at::native_layer_norm_backward(grad_out, input, normalized_shape, mean.to(type),
                                         rstd.to(type), weight, bias, toMask<3>(mask)),
          grad_input, grad_weight, grad_bias);
}

void groupNorm(const at::Tensor& input, OptionalTensorRef weight, OptionalTensorRef bias, int64_t n,
               int64_t channels, int64_t hxw, int64_t groups, double eps, at::Tensor& out,
               at::Tensor& mean, at::Tensor& rstd) {
  giveAll(at::native_group_norm(input, weight, bias, n, channels, hxw, groups, eps), out, mean,
          rstd);
}

void groupNormBackward(const at::Tensor& grad_out, const at::Tensor& input, const at::Tensor& mean,
                       const at::Tensor& rstd, OptionalTensorRef weight, int64_t n,
                       int64_t channels, int64_t hxw, int64_t groups, at::ArrayRef<bool> mask,
                       const at::Tensor& grad_input, const at::Tensor& grad_weight,
                       const at::Tensor& grad_bias) {
  const at::ScalarType type = statisticsType(input, weight);
  giveAll(at::native_group_norm_backward(grad_out, input, mean.to(type), rstd.to(type), weight, n,
                                         channels, hxw, groups, toMask<3>(mask)),
          grad_input, grad_weight, grad_bias);
}

}  // namespace softcann::aclnn
