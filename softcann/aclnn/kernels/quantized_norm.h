// Root mean square normalisation that quantises what it gives.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>

namespace softcann::aclnn {

// How a normalised row becomes integers: y / scale + zero point, or y * scale + zero point.
struct StaticQuantization {
  const std::optional<at::Tensor>& scale;
  const std::optional<at::Tensor>& zero_point;
  bool divide = true;
};

// x / sqrt(mean(x^2) + epsilon) * gamma + beta in float32; rstd is written if defined.
at::Tensor rmsNormalized(const at::Tensor& x, const at::Tensor& gamma,
                         const std::optional<at::Tensor>& beta, double epsilon,
                         const at::Tensor& rstd);

void rmsNormQuant(const at::Tensor& x, const at::Tensor& gamma,
                  const std::optional<at::Tensor>& beta, double epsilon,
                  const StaticQuantization& quantization, at::Tensor& y, const at::Tensor& rstd);

// x = x1 + x2, and its normalised rows quantised twice; without a second scale, y2 is zero.
void addRmsNormQuant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma,
                     const std::optional<at::Tensor>& beta, double epsilon,
                     const StaticQuantization& first, const StaticQuantization& second,
                     at::Tensor& y1, at::Tensor& y2, at::Tensor& x, const at::Tensor& normalized);

// Likewise with the scale that each row needs, after a multiplication with `smooth`. Of `wanted`,
// which of the two to compute.
void addRmsNormDynamicQuant(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& gamma,
                            const std::optional<at::Tensor>& beta, double epsilon,
                            const std::array<std::optional<at::Tensor>, 2>& smooth,
                            std::array<bool, 2> wanted, const std::array<at::Tensor, 2>& y,
                            at::Tensor& x, const std::array<at::Tensor, 2>& scale);

}  // namespace softcann::aclnn
