#include "aclnn/kernels/gated.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>

#include <utility>

#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

namespace {

constexpr double kFastGeluSlope = 1.702;

std::pair<at::Tensor, at::Tensor> halves(const at::Tensor& x, int64_t dim) {
  const int64_t size = x.size(dim);
  TORCH_CHECK(size % 2 == 0, "expected an even size in dimension ", dim, ", but got ", x.sizes());
  return {x.narrow(dim, 0, size / 2), x.narrow(dim, size / 2, size / 2)};
}

}  // namespace

void swiGlu(const at::Tensor& x, int64_t dim, at::Tensor& out) {
  const at::ScalarType type = computeType(x);
  const auto [gate, value] = halves(x, dim);
  out.copy_(at::silu(gate.to(type)).mul_(value.to(type)));
}

void swiGluGrad(const at::Tensor& dy, const at::Tensor& x, int64_t dim, at::Tensor& out) {
  const at::ScalarType type = computeType(x);
  const auto [gate, value] = halves(x, dim);
  const at::Tensor grad = dy.to(type);
  const at::Tensor wide_gate = gate.to(type);
  out.copy_(at::cat(
      {at::silu_backward(grad.mul(value.to(type)), wide_gate), at::silu(wide_gate).mul_(grad)},
      dim));
}

void fastGelu(const at::Tensor& self, at::Tensor& out) {
  const at::Tensor x = self.to(computeType(self));
  out.copy_(at::sigmoid(x.mul(kFastGeluSlope)).mul_(x));
}

void fastGeluGrad(const at::Tensor& grad, const at::Tensor& self, at::Tensor& out) {
  const at::ScalarType type = computeType(self);
  const at::Tensor x = self.to(type);
  const at::Tensor gate = at::sigmoid(x.mul(kFastGeluSlope));
  // d/dx x s(ax) = s(ax) (1 + a x (1 - s(ax)))
  const at::Tensor slope = gate.neg().add_(1).mul_(x).mul_(kFastGeluSlope).add_(1).mul_(gate);
  out.copy_(slope.mul_(grad.to(type)));
}

}  // namespace softcann::aclnn
