// Max pooling whose second result is a mask that only its backward function reads.
//
// The mask has, in each plane of the last two dimensions, room for two bytes an output element: the
// element's place in its window, row by row, as a 16-bit number.
#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

void maxPoolWithMask(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                     at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                     at::Tensor& out, at::Tensor& mask);

void maxPoolWithMaskBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mask,
                             at::IntArrayRef kernel, at::IntArrayRef stride,
                             at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                             at::Tensor& grad_input);

}  // namespace softcann::aclnn
