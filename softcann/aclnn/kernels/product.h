// Matrix products in every form. Half precision that the frame has not converted, because its
// copies would be too large, is multiplied by tiles: Note [Half precision]. Factors of half
// precision may have a product in float32.
#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// A factor of a product in `dtype`. Half precision stays as it is for one in float32.
at::Tensor asFactor(const at::Tensor& x, at::ScalarType dtype);

// out = a @ b, as at::mm, at::bmm, at::mv and at::matmul.
void mmInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b);
void bmmInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b);
void mvInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& x);
void matmulInto(at::Tensor& out, const at::Tensor& a, const at::Tensor& b);

// out = beta * self + alpha * (a @ b), as at::addmm, at::baddbmm and at::addmv. With a beta of 0
// what `self` has does not matter.
void addmmInto(at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
               const at::Scalar& beta, const at::Scalar& alpha);
void baddbmmInto(at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& b,
                 const at::Scalar& beta, const at::Scalar& alpha);
void addmvInto(at::Tensor& out, const at::Tensor& self, const at::Tensor& a, const at::Tensor& x,
               const at::Scalar& beta, const at::Scalar& alpha);

}  // namespace softcann::aclnn
