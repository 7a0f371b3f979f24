// Max pooling, whose second result is either positions or a mask that only its backward function
// reads.
//
// A mask has, in each plane of the last two dimensions, room for two bytes an output element: the
// element's place in its window, row by row, as a 16-bit number.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

namespace softcann::aclnn {

// Calls `kernel` with a tensor for the positions, int64 as ATen writes them; `indices` may be of
// another dtype.
template <class Kernel>
void withPositions(at::Tensor& indices, Kernel&& kernel) {
  if (indices.scalar_type() == at::kLong) {
    kernel(indices);
    return;
  }
  at::Tensor positions = at::empty_like(indices, indices.options().dtype(at::kLong));
  kernel(positions);
  indices.copy_(positions);
}

void maxPoolWithMask(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                     at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                     at::Tensor& out, at::Tensor& mask);

void maxPoolWithMaskBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mask,
                             at::IntArrayRef kernel, at::IntArrayRef stride,
                             at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                             at::Tensor& grad_input);

}  // namespace softcann::aclnn
