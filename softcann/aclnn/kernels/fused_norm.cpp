#include "aclnn/kernels/fused_norm.h"

#include <ATen/ops/add.h>
#include <ATen/ops/rsqrt.h>

#include "aclnn/kernels/common.h"
#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

namespace {

std::vector<int64_t> lastDims(int64_t count) {
  std::vector<int64_t> dims;
  for (int64_t i = 1; i <= count; ++i) {
    dims.push_back(-i);
  }
  return dims;
}

void checkGamma(const at::Tensor& x, const at::Tensor& gamma) {
  TORCH_CHECK(at::isFloatingType(x.scalar_type()) && at::isFloatingType(gamma.scalar_type()),
              "expected x and gamma of a floating point dtype, but got ", x.scalar_type(), " and ",
              gamma.scalar_type());
  TORCH_CHECK(gamma.dim() >= 1 && gamma.dim() <= x.dim() &&
                  x.sizes().slice(static_cast<size_t>(x.dim() - gamma.dim())) == gamma.sizes(),
              "expected gamma to have the sizes of the last dimensions of x, but got gamma ",
              gamma.sizes(), " and x ", x.sizes());
}

}  // namespace

void rmsNorm(const at::Tensor& x, const at::Tensor& gamma, double epsilon, at::Tensor& y,
             const at::Tensor& rstd, double offset) {
  checkGamma(x, gamma);
  const at::ScalarType type = computeType(x);
  const at::Tensor wide = x.to(type);
  const at::Tensor scale =
      wide.square().mean(lastDims(gamma.dim()), /*keepdim=*/true).add_(epsilon).rsqrt_();
  const at::Tensor weight = offset == 0.0 ? gamma.to(type) : gamma.to(type).add(offset);
  y.copy_(wide.mul(scale).mul_(weight));
  give(rstd, scale);
}

void rmsNormGrad(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& rstd,
                 const at::Tensor& gamma, at::Tensor& dx, at::Tensor& dgamma) {
  checkGamma(x, gamma);
  const at::ScalarType type = computeType(x);
  const at::Tensor scale = rstd.to(type);
  const at::Tensor normalised = x.to(type).mul(scale);
  const at::Tensor grad = dy.to(type);
  const at::Tensor weighted = grad.mul(gamma.to(type));
  const at::Tensor shared = weighted.mul(normalised).mean(lastDims(gamma.dim()), /*keepdim=*/true);
  dx.copy_(weighted.sub(normalised.mul(shared)).mul_(scale));
  dgamma.copy_(grad.mul(normalised).sum_to_size(gamma.sizes()));
}

void addRmsNorm(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma, double epsilon,
                at::Tensor& y, const at::Tensor& rstd, at::Tensor& x) {
  TORCH_CHECK(x1.sizes() == x2.sizes(), "expected x1 and x2 of the same sizes, but got ",
              x1.sizes(), " and ", x2.sizes());
  at::add_out(x, x1, x2);
  rmsNorm(x, gamma, epsilon, y, rstd);
}

}  // namespace softcann::aclnn
