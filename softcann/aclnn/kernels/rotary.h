// Rotary position embedding: y = x * cos + rotate(x) * sin, in float32.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// CANN's numbers for how x is rotated. Halves, or pairs of neighbours, (a, b) become (-b, a);
// kQuarter does so within each half of x; kInterleaveHalf first moves the even elements to the
// front, then acts as kHalf.
enum class Rotation : int64_t { kHalf = 0, kInterleave = 1, kQuarter = 2, kInterleaveHalf = 3 };

// y for one x; cos and sin broadcast to it.
at::Tensor rotated(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                   Rotation rotation);
// A matrix of (size, size) takes the place of the mode: rotate(x) = x @ matrix.
void rotaryEmbedding(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                     int64_t mode, const std::optional<at::Tensor>& matrix, at::Tensor& out);
// dcos and dsin are written if they are defined; they need x.
void rotaryEmbeddingGrad(const at::Tensor& dy, const at::Tensor& cos, const at::Tensor& sin,
                         const std::optional<at::Tensor>& x, int64_t mode, at::Tensor& dx,
                         const at::Tensor& dcos, const at::Tensor& dsin);

}  // namespace softcann::aclnn
