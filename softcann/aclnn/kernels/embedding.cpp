#include "aclnn/kernels/embedding.h"

#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/searchsorted.h>

#include <algorithm>

namespace softcann::aclnn {
namespace {

// The number of each index' bag, which ATen leaves out where its sums do without. Of empty bags
// that begin at one place, the index is the last one's.
at::Tensor bagOfEach(const at::Tensor& indices, const at::Tensor& offsets,
                     bool include_last_offset) {
  const at::Tensor starts =
      (include_last_offset ? offsets.narrow(0, 0, offsets.size(0) - 1) : offsets).contiguous();
  const at::Tensor positions = at::arange(indices.size(0), starts.options());
  return at::searchsorted(starts, positions, /*out_int32=*/false, /*right=*/true).sub(1);
}

void fill(const at::Tensor& out, const at::Tensor& values) {
  const int64_t count = std::min(out.size(0), values.size(0));
  out.zero_();
  out.narrow(0, 0, count).copy_(values.narrow(0, 0, count));
}

}  // namespace

void embeddingBag(const at::Tensor& weight, const at::Tensor& indices, const at::Tensor& offsets,
                  bool scale_grad_by_freq, int64_t mode, bool sparse,
                  const std::optional<at::Tensor>& per_sample_weights, bool include_last_offset,
                  int64_t padding_idx, const at::Tensor& output, const at::Tensor& offset2bag,
                  const at::Tensor& bag_size, const at::Tensor& max_indices) {
  const auto [result, bags, sizes, maxima] =
      at::_embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse,
                         per_sample_weights, include_last_offset, padding_idx);
  output.copy_(result);
  if (offset2bag.numel() > 0) {
    offset2bag.copy_(
        bags.numel() == indices.numel() ? bags : bagOfEach(indices, offsets, include_last_offset));
  }
  fill(bag_size, sizes);
  if (max_indices.numel() > 0) {
    fill(max_indices, maxima);
  }
}

}  // namespace softcann::aclnn
