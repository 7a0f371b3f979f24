// Gated activations with clamped halves, quantised in and out.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// Of a and b, the two parts of x: min(a, limit) * sigmoid(alpha * that) * (b in [-limit, limit] +
// bias).
struct ClampedGate {
  double alpha;
  double limit;
  double bias;
};

// Rows are x with the dimensions before `dim` merged and those from it on merged; even and odd
// elements of a row are the two parts if `interleaved`, else its halves. Of rows beyond the sum of
// `groups`, zeros are given.
void clippedSwiGlu(const at::Tensor& x, const std::optional<at::Tensor>& groups, int64_t dim,
                   const ClampedGate& gate, bool interleaved, at::Tensor& out);

struct DequantSwiGlu {
  const std::optional<at::Tensor>& weight_scale;      // (2H) or (groups, 2H)
  const std::optional<at::Tensor>& activation_scale;  // of each row
  const std::optional<at::Tensor>& bias;              // int32, (2H); added before the scales
  const std::optional<at::Tensor>& smooth;            // (H) or (groups, H)
  const std::optional<at::Tensor>& groups;            // how many rows each has
  bool activate_left = false;
  int64_t mode = 0;  // 0 plain halves, 1 clamped even and odd elements, 2 clamped halves
  ClampedGate gate{1.702, 7.0, 1.0};
};

// y in int8 with the scale that each row needs. Rows beyond the groups are zero.
void dequantSwiGluQuant(const at::Tensor& x, const DequantSwiGlu& call, at::Tensor& y,
                        at::Tensor& scale);

// gelu(a) * b, and gelu(a) itself; `approximate` 1 is tanh. The activated half is the second one
// unless activate_left.
void geGlu(const at::Tensor& x, int64_t dim, int64_t approximate, bool activate_left,
           at::Tensor& out, at::Tensor& gelu);
void geGluGrad(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gelu, int64_t dim,
               int64_t approximate, bool activate_left, at::Tensor& out);

}  // namespace softcann::aclnn
