#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// Half precision that the frame has not converted, because its copies would be too large, goes by
// parts of the batch: Note [Half precision].
struct ConvolutionOptions {
  at::IntArrayRef stride;
  at::IntArrayRef padding;
  at::IntArrayRef dilation;
  bool transposed;
  at::IntArrayRef output_padding;
  int64_t groups;
};

void convolution(const at::Tensor& input, const at::Tensor& weight,
                 const std::optional<at::Tensor>& bias, const ConvolutionOptions& options,
                 const at::Tensor& output);

// Writes the gradients that `mask` asks for; the others' tensors may be undefined.
void convolutionBackward(const at::Tensor& grad_output, const at::Tensor& input,
                         const at::Tensor& weight, at::OptionalIntArrayRef bias_sizes,
                         const ConvolutionOptions& options, at::ArrayRef<bool> mask,
                         const at::Tensor& grad_input, const at::Tensor& grad_weight,
                         const at::Tensor& grad_bias);

}  // namespace softcann::aclnn
