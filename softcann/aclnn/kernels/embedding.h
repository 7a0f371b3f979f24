// Embedding bags: sums, means or maxima of embeddings, bag by bag.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// CANN takes statistics as PyTorch's CPU or CUDA kernels size them: bag_size with or without an
// element for include_last_offset's last offset, max_indices with or without elements if mode is
// not 2 (max). A caller that does not need offset2bag gives no room for it.
void embeddingBag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                  bool scale_grad_by_freq, int64_t mode, bool sparse,
                  const std::optional<at::Tensor>& per_sample_weights, bool include_last_offset,
                  int64_t padding_idx, const at::Tensor& output, const at::Tensor& offset2bag,
                  const at::Tensor& bag_size, const at::Tensor& max_indices);

}  // namespace softcann::aclnn
