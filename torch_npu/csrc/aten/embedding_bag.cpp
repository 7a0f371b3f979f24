// Embedding bags, with statistics sized as PyTorch's fake kernel does on every device but the CPU:
// bag_size has an element for each offset, max_indices has elements only for maxima.
#include <ATen/core/Tensor.h>
#include <ATen/ops/_embedding_bag_backward_native.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/aten/outputs.h"

namespace torch_npu {
namespace {

using at::Tensor;
using Results = std::tuple<Tensor, Tensor, Tensor, Tensor>;

AclnnFunction aclnnEmbeddingBag("aclnnEmbeddingBag");

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

void checkBags(const Tensor& weight, const Tensor& indices, const Tensor& offsets, int64_t mode,
               const std::optional<Tensor>& per_sample_weights, bool include_last_offset) {
  TORCH_CHECK(weight.dim() == 2 && indices.dim() == 1 && offsets.dim() == 1,
              "embedding_bag: expected a matrix of weights and 1D indices and offsets, but got ",
              weight.dim(), "D, ", indices.dim(), "D and ", offsets.dim(), "D");
  for (const Tensor& tensor : {indices, offsets}) {
    TORCH_CHECK(tensor.scalar_type() == at::kLong || tensor.scalar_type() == at::kInt,
                "embedding_bag: expected indices and offsets to be Long or Int, but got ",
                tensor.toString());
  }
  TORCH_CHECK(mode >= kSum && mode <= kMax,
              "embedding_bag: mode is 0 (sum), 1 (mean) or 2 (max), got ", mode);
  TORCH_CHECK(!include_last_offset || offsets.size(0) >= 1,
              "include_last_offset: number of offset should be at least 1");
  if (per_sample_weights.has_value() && per_sample_weights->defined()) {
    TORCH_CHECK(mode == kSum, "embedding_bag: per_sample_weights only supported with mode='sum'");
    TORCH_CHECK(per_sample_weights->dim() == 1 && per_sample_weights->numel() == indices.numel(),
                "embedding_bag: expected per_sample_weights to be 1D, one for each index");
    TORCH_CHECK(per_sample_weights->scalar_type() == weight.scalar_type(),
                "embedding_bag: expected per_sample_weights of weight's dtype, ",
                weight.scalar_type(), ", but got ", per_sample_weights->scalar_type());
  }
}

Results embeddingBag(const Tensor& weight, const Tensor& indices, const Tensor& offsets,
                     bool scale_grad_by_freq, int64_t mode, bool sparse,
                     const std::optional<Tensor>& per_sample_weights, bool include_last_offset,
                     int64_t padding_idx) {
  checkBags(weight, indices, offsets, mode, per_sample_weights, include_last_offset);
  const int64_t bags = offsets.size(0) - (include_last_offset ? 1 : 0);
  const at::ScalarType type = c10::promoteTypes(indices.scalar_type(), offsets.scalar_type());
  Tensor output = shapes::sized({bags, weight.size(1)}, weight);
  Tensor offset2bag = shapes::sized(indices.sizes(), indices, type);
  Tensor bag_size = shapes::sized(offsets.sizes(), indices, type);
  Tensor max_indices = mode == kMax ? shapes::sized({bags, weight.size(1)}, indices, type)
                                    : shapes::sized({0}, indices, type);
  launch(aclnnEmbeddingBag, weight, indices, offsets, scale_grad_by_freq, mode, sparse,
         per_sample_weights, include_last_offset, padding_idx, output, offset2bag, bag_size,
         max_indices);
  return {output, offset2bag, bag_size, max_indices};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_embedding_bag", TORCH_FN(embeddingBag));
  m.impl("_embedding_bag_forward_only", TORCH_FN(embeddingBag));
  // Composed of other operators, but registered for ATen's own devices only.
  m.impl("_embedding_bag_backward", TORCH_FN(at::native::_embedding_bag_backward_symint));
}

}  // namespace torch_npu
