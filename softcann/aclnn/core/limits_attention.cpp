// The limits of fused attention that depend on the layout of its tensors, as CANN's documents of
// aclnnFlashAttentionScore and its gradient give them for the Atlas A2.
#include <optional>
#include <string>

#include "aclnn/core/limits.h"

namespace softcann::aclnn {

namespace {

constexpr int64_t kMaxBatch = 2 * 1024 * 1024;
constexpr int64_t kMaxHeads = 256;
constexpr int64_t kMaxLength = 1024 * 1024;
constexpr int64_t kMaxHeadSize = 768;

// Batch, heads, length and head size of a tensor.
struct AttentionShape {
  int64_t batch, heads, length, size;
};

// What `tensor` is in a layout such as "BSND". H is heads times head size: either must be known.
std::optional<AttentionShape> readLayout(const Operand& x, const std::string& layout,
                                         std::optional<int64_t> heads,
                                         std::optional<int64_t> head_size) {
  if (x.tensors.empty() || x.tensors[0]->sizes().size() != layout.size()) return std::nullopt;
  AttentionShape shape{1, 1, 1, 1};
  for (size_t i = 0; i < layout.size(); ++i) {
    const int64_t size = x.tensors[0]->sizes()[i];
    switch (layout[i]) {
      case 'B':
        shape.batch = size;
        break;
      case 'N':
        shape.heads = size;
        break;
      case 'S':
        shape.length = size;
        break;
      case 'D':
        shape.size = size;
        break;
      case 'H':
        if (heads && *heads > 0 && size % *heads == 0) {
          shape.heads = *heads;
          shape.size = size / *heads;
        } else if (head_size && *head_size > 0 && size % *head_size == 0) {
          shape.heads = size / *head_size;
          shape.size = *head_size;
        } else {
          return std::nullopt;
        }
        break;
      default:
        return std::nullopt;
    }
  }
  return shape;
}

}  // namespace

void Limits::attention(const Operand& query, const Operand& key, const Operand& value,
                       const Operand& heads, const Operand& layout, const Operand& mask,
                       const Operand& sparse_mode) {
  if (failed() || heads.numbers.empty()) return;
  const std::string& order = layout.text;
  const auto q = readLayout(query, order, static_cast<int64_t>(heads.numbers[0]), std::nullopt);
  if (!q) {
    refuse("query does not have the layout " + order + " with " +
           std::to_string(static_cast<int64_t>(heads.numbers[0])) + " heads");
    return;
  }
  const auto k = readLayout(key, order, std::nullopt, q->size);
  if (!k) {
    refuse("key does not have the layout " + order + " and query's head size " +
           std::to_string(q->size));
    return;
  }
  const auto v = readLayout(value, order, k->heads, std::nullopt);
  if (!v) {
    refuse("value does not have the layout " + order + " and key's " + std::to_string(k->heads) +
           " heads");
    return;
  }
  const auto within = [&](const char* what, int64_t number, int64_t most) {
    if (!failed() && number > most) {
      refuse(std::string(what) + " is " + std::to_string(number) + "; allowed is up to " +
             std::to_string(most));
    }
  };
  const auto equal = [&](const char* what, int64_t given, int64_t wanted) {
    if (!failed() && given != wanted) {
      refuse(std::string(what) + " is " + std::to_string(given) + "; it must be " +
             std::to_string(wanted));
    }
  };
  equal("query's number of heads", q->heads, static_cast<int64_t>(heads.numbers[0]));
  equal("key's batch", k->batch, q->batch);
  equal("value's batch", v->batch, q->batch);
  equal("key's head size", k->size, q->size);
  equal("value's number of heads", v->heads, k->heads);
  equal("value's length", v->length, k->length);
  within("value's head size", v->size, k->size);
  within("the batch", q->batch, kMaxBatch);
  within("query's number of heads", q->heads, kMaxHeads);
  within("query's length", q->length, kMaxLength);
  within("key's length", k->length, kMaxLength);
  within("the head size", q->size, kMaxHeadSize);
  if (!failed() && (k->heads == 0 || q->heads % k->heads != 0)) {
    refuse("query has " + std::to_string(q->heads) + " heads and key " + std::to_string(k->heads) +
           "; the quotient must be a whole number");
  }
  // The compressed masks of the other modes have shapes of their own.
  const bool whole = !sparse_mode.numbers.empty() && sparse_mode.numbers[0] <= 1;
  if (failed() || mask.tensors.empty() || !whole) return;
  const at::IntArrayRef sizes = mask.tensors[0]->sizes();
  const size_t rank = sizes.size();
  if (rank == 0) return;
  bool fits =
      (rank == 2 || rank == 4) && sizes[rank - 2] == q->length && sizes[rank - 1] == k->length;
  if (fits && rank == 4) {
    fits = (sizes[0] == q->batch && (sizes[1] == q->heads || sizes[1] == 1)) ||
           (sizes[0] == 1 && sizes[1] == 1);
  }
  if (!fits) {
    refuse(std::string(mask.name) + " does not have a shape [B,N,S,S], [B,1,S,S], [1,1,S,S] or " +
           "[S,S] with B " + std::to_string(q->batch) + ", N " + std::to_string(q->heads) + ", S " +
           std::to_string(q->length) + " and " + std::to_string(k->length));
  }
}

}  // namespace softcann::aclnn
