#include "aclnn/kernels/convolution.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include <algorithm>

#include "aclnn/core/half_precision.h"
#include "aclnn/core/parameters.h"
#include "aclnn/kernels/common.h"

namespace softcann::aclnn {

namespace {

// How many samples of the batch are converted at once; 0 where half precision is left to ATen.
int64_t samplesAtOnce(const at::Tensor& input, const at::Tensor& output, const at::Tensor& weight,
                      int64_t copies_of_weight) {
  if (!input.is_cpu() || input.dim() != weight.dim() || input.numel() == 0 ||
      input.scalar_type() != weight.scalar_type() || !convertsHalf(input.scalar_type())) {
    return 0;
  }
  constexpr int64_t kMost = kMaxConvertedBytes / int64_t{sizeof(float)};
  const int64_t sample = (input.numel() + output.numel()) / input.size(0);
  return std::max<int64_t>(
      0, (kMost - copies_of_weight * weight.numel()) / std::max<int64_t>(sample, 1));
}

std::optional<at::Tensor> toFloat(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? std::optional<at::Tensor>(tensor->to(at::kFloat)) : std::nullopt;
}

at::Tensor convolved(const at::Tensor& input, const at::Tensor& weight,
                     const std::optional<at::Tensor>& bias, const ConvolutionOptions& options) {
  return at::convolution(input, weight, bias, options.stride, options.padding, options.dilation,
                         options.transposed, options.output_padding, options.groups);
}

auto gradients(const at::Tensor& grad_output, const at::Tensor& input, const at::Tensor& weight,
               at::OptionalIntArrayRef bias_sizes, const ConvolutionOptions& options,
               std::array<bool, 3> mask) {
  return at::convolution_backward(grad_output, input, weight, bias_sizes, options.stride,
                                  options.padding, options.dilation, options.transposed,
                                  options.output_padding, options.groups, mask);
}

}  // namespace

void convolution(const at::Tensor& input, const at::Tensor& weight,
                 const std::optional<at::Tensor>& bias, const ConvolutionOptions& options,
                 const at::Tensor& output) {
  const int64_t at_once = samplesAtOnce(input, output, weight, 1);
  if (at_once == 0) {
    output.copy_(convolved(input, weight, bias, options));
    return;
  }
  const at::Tensor wide_weight = weight.to(at::kFloat);
  const std::optional<at::Tensor> wide_bias = toFloat(bias);
  for (int64_t first = 0; first < input.size(0); first += at_once) {
    const int64_t count = std::min(at_once, input.size(0) - first);
    output.narrow(0, first, count)
        .copy_(convolved(input.narrow(0, first, count).to(at::kFloat), wide_weight, wide_bias,
                         options));
  }
}

void convolutionBackward(const at::Tensor& grad_output, const at::Tensor& input,
                         const at::Tensor& weight, at::OptionalIntArrayRef bias_sizes,
                         const ConvolutionOptions& options, at::ArrayRef<bool> mask,
                         const at::Tensor& grad_input, const at::Tensor& grad_weight,
                         const at::Tensor& grad_bias) {
  const std::array<bool, 3> wanted = toMask<3>(mask);
  const int64_t at_once = samplesAtOnce(input, grad_output, weight, 2) / 2;
  if (at_once == 0) {
    const auto [d_input, d_weight, d_bias] =
        gradients(grad_output, input, weight, bias_sizes, options, wanted);
    give(grad_input, d_input);
    give(grad_weight, d_weight);
    give(grad_bias, d_bias);
    return;
  }
  const at::Tensor wide_weight = weight.to(at::kFloat);
  at::Tensor sum_weight;
  at::Tensor sum_bias;
  const auto accumulate = [](at::Tensor& sum, const at::Tensor& part) {
    if (!part.defined()) return;
    sum = sum.defined() ? sum.add_(part) : part;
  };
  for (int64_t first = 0; first < input.size(0); first += at_once) {
    const int64_t count = std::min(at_once, input.size(0) - first);
    const auto [d_input, d_weight, d_bias] = gradients(
        grad_output.narrow(0, first, count).to(at::kFloat),
        input.narrow(0, first, count).to(at::kFloat), wide_weight, bias_sizes, options, wanted);
    if (grad_input.defined()) grad_input.narrow(0, first, count).copy_(d_input);
    accumulate(sum_weight, d_weight);
    accumulate(sum_bias, d_bias);
  }
  if (sum_weight.defined()) give(grad_weight, sum_weight);
  if (sum_bias.defined()) give(grad_bias, sum_bias);
}

}  // namespace softcann::aclnn
