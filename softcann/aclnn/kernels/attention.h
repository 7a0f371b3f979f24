// Attention kernels.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// out = softmax(scale * query @ key^T + mask) @ value, without the matrix of scores in memory.
// There may be fewer key heads than query heads, by a whole factor. The mask, in the query's
// dtype, is 2-D or 4-D and broadcasts. A causal mask is aligned with the upper left corner.
void scaledDotProductAttention(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const std::optional<at::Tensor>& mask,
                               bool is_causal, double scale, at::Tensor& out,
                               at::Tensor& logsumexp);

// Gradients that the caller leaves out are undefined tensors.
void scaledDotProductAttentionGrad(const at::Tensor& grad_out, const at::Tensor& query,
                                   const at::Tensor& key, const at::Tensor& value,
                                   const std::optional<at::Tensor>& mask, const at::Tensor& out,
                                   const at::Tensor& logsumexp, bool is_causal, double scale,
                                   const at::Tensor& grad_query, const at::Tensor& grad_key,
                                   const at::Tensor& grad_value);

}  // namespace softcann::aclnn
