// The limits of fused attention that depend on the layout of its tensors, as CANN's documents of
// aclnnFlashAttentionScore and its gradient, and of the functions for inference, give them for the
// Atlas A2.
#include <algorithm>
#include <optional>
#include <string>

#include "aclnn/core/limits.h"

namespace softcann::aclnn {

namespace {

constexpr int64_t kMaxBatch = 2 * 1024 * 1024;
constexpr int64_t kMaxHeads = 256;
constexpr int64_t kMaxLength = 1024 * 1024;
constexpr int64_t kMaxInferBatch = 65536;
constexpr int64_t kMaxInferLength = 20 * 1024 * 1024;
constexpr int64_t kMaxInferHeadSize = 512;
constexpr int64_t kMaxRow = 65535;

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
      case 'T':
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

// "BNSD" of "BNSD_BSND": what stands behind the underscore is the output's.
std::string inputLayout(const Operand& layout) {
  return layout.text.substr(0, layout.text.find('_'));
}

bool isPacked(const std::string& layout) { return layout.find('T') != std::string::npos; }

int64_t firstNumber(const Operand& x) { return static_cast<int64_t>(x.numbers[0]); }

bool hasElements(const Operand& x) { return !x.tensors.empty() && !x.tensors[0]->isEmpty(); }

int64_t bytesOf(const Operand& x) {
  return x.dtypes.empty() ? 0 : static_cast<int64_t>(c10::elementSize(x.dtypes[0]));
}

}  // namespace

void Limits::within(const char* what, int64_t number, int64_t most) {
  if (!failed() && number > most) {
    refuse(std::string(what) + " is " + std::to_string(number) + "; allowed is up to " +
           std::to_string(most));
  }
}

void Limits::equal(const char* what, int64_t number, int64_t wanted) {
  if (!failed() && number != wanted) {
    refuse(std::string(what) + " is " + std::to_string(number) + "; it must be " +
           std::to_string(wanted));
  }
}

void Limits::groupedHeads(int64_t query_heads, int64_t key_heads) {
  if (!failed() && (key_heads == 0 || query_heads % key_heads != 0)) {
    refuse("query has " + std::to_string(query_heads) + " heads and key " +
           std::to_string(key_heads) + "; the quotient must be a whole number");
  }
}

void Limits::attention(const Operand& query, const Operand& key, const Operand& value,
                       const Operand& heads, const Operand& layout, const Operand& mask,
                       const Operand& sparse_mode, double most) {
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
  within("the head size", q->size, static_cast<int64_t>(most));
  groupedHeads(q->heads, k->heads);
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

void Limits::packedAttention(const Operand& query, const Operand& key, const Operand& value,
                             const Operand& heads, double most) {
  if (failed() || heads.numbers.empty()) return;
  const auto q = readLayout(query, "TND", std::nullopt, std::nullopt);
  const auto k = readLayout(key, "TND", std::nullopt, std::nullopt);
  const auto v = readLayout(value, "TND", std::nullopt, std::nullopt);
  if (!q || !k || !v) return;  // the rank is a limit of its own
  equal("query's number of heads", q->heads, firstNumber(heads));
  equal("key's head size", k->size, q->size);
  equal("value's number of heads", v->heads, k->heads);
  equal("value's length", v->length, k->length);
  within("value's head size", v->size, k->size);
  within("query's number of heads", q->heads, kMaxHeads);
  within("query's length", q->length, kMaxLength);
  within("key's length", k->length, kMaxLength);
  within("the head size", q->size, static_cast<int64_t>(most));
  groupedHeads(q->heads, k->heads);
}

void Limits::inferAttention(const Operand& query, const Operand& key, const Operand& value,
                            const Operand& heads, const Operand& key_heads, const Operand& layout,
                            const Operand& block_table) {
  if (failed() || heads.numbers.empty() || !hasElements(query)) return;
  const std::string order = inputLayout(layout);
  const int64_t count = firstNumber(heads);
  const auto q = readLayout(query, order, count, std::nullopt);
  if (!q) {
    refuse("query does not have the layout " + order + " with " + std::to_string(count) + " heads");
    return;
  }
  equal("query's number of heads", q->heads, count);
  within("the batch", q->batch, kMaxInferBatch);
  within("query's number of heads", q->heads, kMaxHeads);
  within("the head size", q->size, kMaxInferHeadSize);
  within("query's length", q->length, isPacked(order) ? kMaxLength : kMaxInferLength);
  const int64_t given = key_heads.numbers.empty() ? 0 : firstNumber(key_heads);
  const int64_t wanted = given == 0 ? count : given;
  groupedHeads(q->heads, wanted);
  // Blocks have shapes of their own, and a list's elements are of one batch each. int32 holds eight
  // numbers of four bits.
  if (block_table.given || !hasElements(key) || key.tensors.size() != 1) return;
  if (hasDtype(key, {at::kInt})) return;
  for (const Operand* x : {&key, &value}) {
    const auto own = readLayout(*x, order, wanted, std::nullopt);
    if (failed()) return;
    if (!own) {
      refuse(std::string(x->name) + " does not have the layout " + order + " with " +
             std::to_string(wanted) + " heads");
      return;
    }
    equal((std::string(x->name) + "'s number of heads").c_str(), own->heads, wanted);
    equal((std::string(x->name) + "'s batch").c_str(), own->batch, q->batch);
    within((std::string(x->name) + "'s length").c_str(), own->length, kMaxInferLength);
    if (x == &key) equal("key's head size", own->size, q->size);
  }
}

void Limits::alignedHeads(const Operand& query, const Operand& heads, const Operand& layout,
                          Operands others) {
  if (failed() || heads.numbers.empty() || !hasElements(query)) return;
  const auto q = readLayout(query, inputLayout(layout), firstNumber(heads), std::nullopt);
  if (!q || q->length == 1 || isPacked(layout.text)) return;
  const bool bytes = bytesOf(query) == 1 || std::any_of(others.begin(), others.end(),
                                                        [](auto* x) { return bytesOf(*x) == 1; });
  const int64_t factor = bytes ? 32 : 16;
  if (q->size % factor != 0) {
    refuse("the head size is " + std::to_string(q->size) + "; it must be a multiple of " +
           std::to_string(factor));
  }
}

void Limits::unalignedBatch(const Operand& query, const Operand& heads, const Operand& layout) {
  if (failed() || heads.numbers.empty() || !hasElements(query)) return;
  const auto q = readLayout(query, inputLayout(layout), firstNumber(heads), std::nullopt);
  constexpr int64_t kMost = 128;
  if (!q || q->size % (bytesOf(query) == 1 ? 32 : 16) == 0 || q->batch <= kMost) return;
  refuse("the batch is " + std::to_string(q->batch) +
         "; allowed is up to 128 with a head size of " + std::to_string(q->size));
}

void Limits::rowLength(const Operand& query, const Operand& layout) {
  const std::string order = inputLayout(layout);
  if (failed() || query.tensors.empty() || (order != "BSH" && order != "BSND")) return;
  const at::IntArrayRef sizes = query.tensors[0]->sizes();
  if (sizes.size() != order.size()) return;
  const int64_t row = order == "BSH" ? sizes[2] : sizes[2] * sizes[3];
  if (row >= kMaxRow) {
    refuse("query has " + std::to_string(row) + " elements in a row of its layout " + order +
           "; allowed are fewer than " + std::to_string(kMaxRow));
  }
}

void Limits::packedHeads(const Operand& query, const Operand& key, const Operand& value,
                         const Operand& layout, const Operand& rope) {
  if (failed() || query.tensors.empty() || key.tensors.empty() || value.tensors.empty()) return;
  const std::string order = inputLayout(layout);
  const auto headSize = [](const Operand& x) {
    const at::IntArrayRef sizes = x.tensors[0]->sizes();
    return sizes.empty() ? 0 : sizes.back();
  };
  const int64_t q = headSize(query);
  constexpr int64_t kLatent = 512;
  if (!isPacked(order) || q == kLatent) return;
  if (!hasDtype(query, {at::kBFloat16}) && !failed()) {
    refuse("query is not bfloat16, which the layout " + layout.text +
           " needs with heads of another size than 512");
    return;
  }
  // Of blocks [N,D] may be one dimension.
  const bool blocks = key.tensors[0]->sizes().size() != order.size() ||
                      key.tensors[0]->sizes().size() != value.tensors[0]->sizes().size();
  const int64_t k = blocks ? q : headSize(key);
  const int64_t v = blocks ? q : headSize(value);
  bool fits = q == 128 && k == 128 && v == 128;
  if (!rope.given && order == "TND")
    fits = fits || (q == 192 && k == 192 && (v == 128 || v == 192));
  if (!rope.given && order == "NTD") fits = (q == 128 || q == 192) && k == q && v == 128;
  if (!fits) {
    refuse("the head sizes of query, key and value are " + std::to_string(q) + ", " +
           std::to_string(k) + " and " + std::to_string(v) + "; the layout " + layout.text +
           " takes 128 for all" +
           (rope.given ? " together with rope" : ", or 192 for query and key and 128 for value"));
  }
}

void Limits::pagedAttention(const Operand& query, const Operand& key, const Operand& heads,
                            const Operand& layout, const Operand& block_table,
                            const Operand& block_size) {
  if (failed() || block_table.tensors.empty() || heads.numbers.empty()) return;
  if (block_size.numbers.empty() || !hasElements(query)) return;
  const std::string order = inputLayout(layout);
  rank(block_table, 1U << 2, "2");
  range(block_size, 1, isPacked(order) ? 1024 : 512);
  const auto q = readLayout(query, order, firstNumber(heads), std::nullopt);
  if (!failed() && q && !isPacked(order)) {
    equal("size 0 of the block table", block_table.tensors[0]->sizes()[0], q->batch);
    constexpr int64_t kBlockBytes = 32;
    const int64_t factor = kBlockBytes / std::max<int64_t>(bytesOf(key), 1);
    if (!failed() && q->length == 1 && firstNumber(block_size) % factor != 0) {
      refuse(std::string(block_size.name) + " is " + std::to_string(firstNumber(block_size)) +
             "; it must be a multiple of " + std::to_string(factor));
    }
  }
  if (failed() || key.tensors.empty()) return;
  const at::IntArrayRef sizes = key.tensors[0]->sizes();
  if (sizes.size() == 3 && sizes[2] > kMaxRow) {
    refuse("size 2 of key is " + std::to_string(sizes[2]) + "; allowed is up to " +
           std::to_string(kMaxRow) + " in blocks of three dimensions");
  }
  if (sizes.size() == 4 && (order == "BSH" || order == "BSND")) {
    refuse("key has 4 dimensions; blocks for a query in the layout " + layout.text +
           " have 3: block, position, heads times head size");
  }
}

}  // namespace softcann::aclnn
