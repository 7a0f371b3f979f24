#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// Writes the gradients that `mask` asks for; the others' tensors may be undefined.
void convolutionBackward(const at::Tensor& grad_output, const at::Tensor& input,
                         const at::Tensor& weight, at::OptionalIntArrayRef bias_sizes,
                         at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                         bool transposed, at::IntArrayRef output_padding, int64_t groups,
                         at::ArrayRef<bool> mask, const at::Tensor& grad_input,
                         const at::Tensor& grad_weight, const at::Tensor& grad_bias);

}  // namespace softcann::aclnn
