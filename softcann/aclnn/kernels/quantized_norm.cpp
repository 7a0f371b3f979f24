#include "aclnn/kernels/quantized_norm.h"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>

#include "aclnn/kernels/common.h"
#include "aclnn/kernels/fused_norm.h"
#include "aclnn/kernels/quantization.h"

namespace softcann::aclnn {

namespace {

void added(const at::Tensor& x1, const at::Tensor& x2, at::Tensor& x) {
  TORCH_CHECK(x1.sizes() == x2.sizes(), "expected x1 and x2 of the same sizes, but got ",
              x1.sizes(), " and ", x2.sizes());
  at::add_out(x, x1, x2);
}

void quantizeBy(const at::Tensor& rows, const StaticQuantization& quantization, at::Tensor& y) {
  const at::Tensor scale = quantization.scale->to(at::kFloat);
  at::Tensor values = quantization.divide ? rows.div(scale) : rows.mul(scale);
  if (quantization.zero_point.has_value()) {
    values.add_(quantization.zero_point->to(at::kFloat));
  }
  storeRounded(values, y);
}

}  // namespace

at::Tensor rmsNormalized(const at::Tensor& x, const at::Tensor& gamma,
                         const std::optional<at::Tensor>& beta, double epsilon,
                         const at::Tensor& rstd) {
  at::Tensor rows = at::empty(x.sizes(), x.options().dtype(at::kFloat));
  const at::Tensor weight = gamma.dim() == 2 && gamma.size(0) == 1 ? gamma.squeeze(0) : gamma;
  rmsNorm(x, weight, epsilon, rows, rstd);
  if (beta.has_value()) {
    rows.add_(beta->to(at::kFloat));
  }
  return rows;
}

void rmsNormQuant(const at::Tensor& x, const at::Tensor& gamma,
                  const std::optional<at::Tensor>& beta, double epsilon,
                  const StaticQuantization& quantization, at::Tensor& y, const at::Tensor& rstd) {
  quantizeBy(rmsNormalized(x, gamma, beta, epsilon, rstd), quantization, y);
}

void addRmsNormQuant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma,
                     const std::optional<at::Tensor>& beta, double epsilon,
                     const StaticQuantization& first, const StaticQuantization& second,
                     at::Tensor& y1, at::Tensor& y2, at::Tensor& x, const at::Tensor& normalized) {
  added(x1, x2, x);
  const at::Tensor rows = rmsNormalized(x, gamma, beta, epsilon, at::Tensor());
  quantizeBy(rows, first, y1);
  if (second.scale.has_value()) {
    quantizeBy(rows, second, y2);
  } else {
    y2.zero_();
  }
  give(normalized, rows);
}

void addRmsNormDynamicQuant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma,
                            const std::optional<at::Tensor>& beta, double epsilon,
                            const std::array<std::optional<at::Tensor>, 2>& smooth,
                            std::array<bool, 2> wanted, const std::array<at::Tensor, 2>& y,
                            at::Tensor& x, const std::array<at::Tensor, 2>& scale) {
  added(x1, x2, x);
  const at::Tensor rows = rmsNormalized(x, gamma, beta, epsilon, at::Tensor());
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    at::Tensor values = y[i], steps = scale[i];
    dynamicQuant(rows, smooth[i], std::nullopt, {}, values, steps, at::Tensor());
  }
}

}  // namespace softcann::aclnn
