#include "aclnn/kernels/rotary.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/stack.h>

#include "aclnn/kernels/common.h"
#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

namespace {

Rotation rotationOf(int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 3, "expected a rotary mode from 0 to 3, but got ", mode);
  return static_cast<Rotation>(mode);
}

void checkSize(const at::Tensor& x, Rotation rotation) {
  TORCH_CHECK(x.dim() >= 1, "expected x to have dimensions");
  const int64_t divisor = rotation == Rotation::kQuarter ? 4 : 2;
  TORCH_CHECK(x.size(-1) % divisor == 0, "expected the last dimension of x to be divisible by ",
              divisor, ", but got ", x.sizes());
}

at::Tensor evensFirst(const at::Tensor& x) {
  return at::cat({x.slice(-1, 0, std::nullopt, 2), x.slice(-1, 1, std::nullopt, 2)}, -1);
}

at::Tensor evensBack(const at::Tensor& x) {
  const int64_t half = x.size(-1) / 2;
  return at::stack({x.narrow(-1, 0, half), x.narrow(-1, half, half)}, -1).flatten(-2);
}

// (a, b) -> (-b, a) for sign 1, which is its own transpose for sign -1.
at::Tensor turned(const at::Tensor& x, Rotation rotation, int sign) {
  if (rotation == Rotation::kInterleave) {
    const at::Tensor a = x.slice(-1, 0, std::nullopt, 2);
    const at::Tensor b = x.slice(-1, 1, std::nullopt, 2);
    return (sign > 0 ? at::stack({b.neg(), a}, -1) : at::stack({b, a.neg()}, -1)).flatten(-2);
  }
  if (rotation == Rotation::kQuarter) {
    const int64_t half = x.size(-1) / 2;
    return at::cat({turned(x.narrow(-1, 0, half), Rotation::kHalf, sign),
                    turned(x.narrow(-1, half, half), Rotation::kHalf, sign)},
                   -1);
  }
  const int64_t half = x.size(-1) / 2;
  const at::Tensor a = x.narrow(-1, 0, half);
  const at::Tensor b = x.narrow(-1, half, half);
  return sign > 0 ? at::cat({b.neg(), a}, -1) : at::cat({b, a.neg()}, -1);
}

}  // namespace

at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                   Rotation rotation) {
  checkSize(x, rotation);
  const at::ScalarType type = computeType(x);
  at::Tensor wide = x.to(type);
  if (rotation == Rotation::kInterleaveHalf) {
    wide = evensFirst(wide);
  }
  return wide.mul(cos.to(type)).add_(turned(wide, rotation, 1).mul_(sin.to(type)));
}

void rotaryEmbedding(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                     int64_t mode, const std::optional<at::Tensor>& matrix, at::Tensor& out) {
  if (!matrix.has_value()) {
    out.copy_(rotated(x, cos, sin, rotationOf(mode)));
    return;
  }
  TORCH_CHECK(x.dim() >= 1 && matrix->sizes() == at::IntArrayRef({x.size(-1), x.size(-1)}),
              "expected a rotation matrix of the last dimension of x, of ", x.sizes(), ", but got ",
              matrix->sizes());
  const at::ScalarType type = computeType(x);
  const at::Tensor wide = x.to(type);
  out.copy_(wide.mul(cos.to(type)).add_(at::matmul(wide, matrix->to(type)).mul_(sin.to(type))));
}

void rotaryEmbeddingGrad(const at::Tensor& dy, const at::Tensor& cos, const at::Tensor& sin,
                         const std::optional<at::Tensor>& x, int64_t mode, at::Tensor& dx,
                         const at::Tensor& dcos, const at::Tensor& dsin) {
  const Rotation rotation = rotationOf(mode);
  checkSize(dy, rotation);
  const at::ScalarType type = computeType(dy);
  const at::Tensor grad = dy.to(type);
  at::Tensor into = grad.mul(cos.to(type)).add_(turned(grad.mul(sin.to(type)), rotation, -1));
  dx.copy_(rotation == Rotation::kInterleaveHalf ? evensBack(into) : into);
  if (!dcos.defined() && !dsin.defined()) {
    return;
  }
  TORCH_CHECK(x.has_value(), "the gradients of cos and sin need x");
  const at::Tensor wide =
      rotation == Rotation::kInterleaveHalf ? evensFirst(x->to(type)) : x->to(type);
  give(dcos, grad.mul(wide).sum_to_size(cos.sizes()));
  give(dsin, grad.mul(turned(wide, rotation, 1)).sum_to_size(sin.sizes()));
}

}  // namespace softcann::aclnn
