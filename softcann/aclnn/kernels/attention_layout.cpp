#include "aclnn/kernels/attention_layout.h"

#include <algorithm>

namespace softcann::aclnn {

bool isPacked(std::string_view layout) { return layout == "TND" || layout == "NTD"; }

at::Tensor asBatch(const at::Tensor& tensor, std::string_view layout, int64_t heads) {
  const int64_t dims = layout == "BSH" || layout == "SBH" ? 3 : 4;
  TORCH_CHECK(tensor.dim() == dims, "expected a tensor of ", dims, " dimensions for the layout ",
              layout, ", but got ", tensor.sizes());
  if (dims == 3) {
    TORCH_CHECK(heads > 0 && tensor.size(2) % heads == 0, "expected the last dimension of ",
                tensor.sizes(), " to be divisible by the number of heads, ", heads);
    const at::Tensor split = tensor.unflatten(2, {heads, tensor.size(2) / heads});
    return layout == "BSH" ? split.permute({0, 2, 1, 3}) : split.permute({1, 2, 0, 3});
  }
  at::Tensor batch;
  if (layout == "BNSD") {
    batch = tensor;
  } else if (layout == "BSND") {
    batch = tensor.transpose(1, 2);
  } else if (layout == "NBSD") {
    batch = tensor.transpose(0, 1);
  } else {
    TORCH_CHECK_VALUE(false, "unknown attention layout '", layout, "'");
  }
  TORCH_CHECK(batch.size(1) == heads, "expected ", heads, " heads in the layout ", layout,
              ", but got ", tensor.sizes());
  return batch;
}

at::Tensor asPacked(const at::Tensor& tensor, std::string_view layout) {
  TORCH_CHECK(tensor.dim() == 3, "expected a tensor of 3 dimensions for the layout ", layout,
              ", but got ", tensor.sizes());
  return layout == "TND" ? tensor.transpose(0, 1) : tensor;
}

std::vector<int64_t> boundaries(at::IntArrayRef cumulative, int64_t total, const char* what) {
  std::vector<int64_t> result = {0};
  for (const int64_t end : cumulative) {
    const bool unused = end == 0 && result.back() > 0;
    TORCH_CHECK(unused || (end >= result.back() && end <= total), "expected ", what,
                " to be cumulative lengths up to ", total, ", but got ", cumulative);
    result.push_back(unused ? result.back() : end);
  }
  return result;
}

namespace {

at::Tensor hiddenBy(const at::Tensor& mask, int64_t index, int64_t queries, int64_t keys) {
  at::Tensor own = mask;
  if (mask.dim() >= 3) {
    own = mask.size(0) == 1 ? mask.select(0, 0) : mask.select(0, index);
  } else if (mask.dim() == 2 && queries == 1 && mask.size(0) != 1) {
    own = mask.select(0, index).unsqueeze(0);  // (batch, keys) of single queries
  }
  TORCH_CHECK(own.dim() >= 2 && own.size(-2) >= queries && own.size(-1) >= keys,
              "expected an attention mask of at least ", queries, " x ", keys, ", but got ",
              mask.sizes());
  own = own.narrow(-2, 0, queries).narrow(-1, 0, keys);
  return own.scalar_type() == at::kBool ? own : own.ne(0);
}

}  // namespace

Visibility visibilityOf(const std::optional<at::Tensor>& mask, const MaskOptions& options,
                        int64_t index, int64_t queries, int64_t keys, int64_t prefix) {
  Visibility visibility;
  if (!mask.has_value()) {
    return visibility;
  }
  const int64_t corner = keys - queries;
  switch (options.sparse_mode) {
    case 0:
      visibility.hidden = hiddenBy(*mask, index, queries, keys);
      visibility.before = options.pre_tokens;
      visibility.after = options.next_tokens;
      break;
    case 1:
    case 5:
      visibility.hidden = hiddenBy(*mask, index, queries, keys);
      break;
    case 2:
      visibility.after = 0;
      break;
    case 3:
      visibility.after = corner;
      break;
    case 4:
      // Far beyond any length, adding the corner must not overflow.
      visibility.before = std::min(options.pre_tokens, Visibility::kUnlimited / 2) - corner;
      visibility.after = std::min(options.next_tokens, Visibility::kUnlimited / 2) + corner;
      break;
    case 6:
      visibility.after = corner;
      visibility.prefix = prefix;
      break;
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "sparse_mode ", options.sparse_mode,
                                  " is not supported; use 0 to 6");
  }
  return visibility;
}

}  // namespace softcann::aclnn
