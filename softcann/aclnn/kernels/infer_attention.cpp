#include "aclnn/kernels/infer_attention.h"

#include <ATen/ops/cat.h>

#include <string>

#include "aclnn/kernels/attention_core.h"
#include "aclnn/kernels/attention_layout.h"

namespace softcann::aclnn {

namespace {

struct Layouts {
  explicit Layouts(std::string_view text)
      : input(text.substr(0, text.find('_'))),
        output(text.find('_') == std::string_view::npos ? text : text.substr(text.find('_') + 1)) {
    TORCH_CHECK_VALUE(isPacked(input) == isPacked(output), "unknown attention layout '", text, "'");
  }
  std::string_view input;
  std::string_view output;
};

// `lengths` of a batch, where one value serves all and a missing list means the whole length.
int64_t lengthAt(at::OptionalIntArrayRef lengths, int64_t index, int64_t whole, const char* what) {
  if (!lengths.has_value() || lengths->empty()) {
    return whole;
  }
  const auto i = lengths->size() == 1 ? 0 : static_cast<size_t>(index);
  TORCH_CHECK(i < lengths->size(), "expected a length in ", what, " for every sequence, but got ",
              *lengths);
  const int64_t length = (*lengths)[i];
  TORCH_CHECK(length >= 0 && length <= whole, "expected lengths from 0 to ", whole, " in ", what,
              ", but got ", *lengths);
  return length;
}

at::Tensor part(const at::Tensor& packed, const std::vector<int64_t>& starts, int64_t index) {
  const auto i = static_cast<size_t>(index);
  return packed.narrow(1, starts[i], starts[i + 1] - starts[i]);
}

class Batch {
 public:
  explicit Batch(const InferAttention& call)
      : call_(call),
        layouts_(call.layout),
        packed_(isPacked(layouts_.input)),
        key_heads_(call.key_heads == 0 ? call.heads : call.key_heads),
        paged_(call.block_table.has_value()) {
    TORCH_CHECK(!call.key.empty() && call.key.size() == call.value.size(),
                "expected as many key as value tensors, at least one, but got ", call.key.size(),
                " and ", call.value.size());
    TORCH_CHECK(call.query_rope.has_value() == call.key_rope.has_value(),
                "expected query_rope and key_rope together");
    if (packed_) {
      TORCH_CHECK(call.query_lengths.has_value() && call.key_lengths.has_value() &&
                      call.query_lengths->size() == call.key_lengths->size(),
                  "the layout ", layouts_.input,
                  " needs actual lengths of queries and keys, as many of each");
      query_ = asPacked(call.query, layouts_.input);
      query_starts_ = boundaries(*call.query_lengths, query_.size(1), "the queries' lengths");
      count_ = static_cast<int64_t>(call.query_lengths->size());
      if (!paged_) {
        const at::Tensor key = asPacked(call.key[0], layouts_.input);
        key_starts_ = boundaries(*call.key_lengths, key.size(1), "the keys' lengths");
      }
    } else {
      query_ = asBatch(call.query, layouts_.input, call.heads);
      count_ = query_.size(0);
    }
    TORCH_CHECK(!paged_ || (call.block_table->dim() == 2 && call.block_table->size(0) >= count_),
                "expected a block table of (batch, blocks), but got ", call.block_table->sizes());
    TORCH_CHECK(!paged_ || call.key_lengths.has_value(),
                "a block table needs the actual lengths of the keys");
  }

  int64_t count() const { return count_; }

  Sequence sequence(int64_t index) const {
    Sequence result{.query = queryPart(call_.query, index),
                    .key = keyPart(call_.key, index),
                    .value = keyPart(call_.value, index),
                    .bias = {},
                    .bias_scaled = false,
                    .sink = call_.sink.value_or(at::Tensor()),
                    .kept = {},
                    .keep_probability = 1.0,
                    .scale = call_.scale,
                    .visibility = {}};
    if (call_.query_rope.has_value()) {
      result.query = at::cat({result.query, queryPart(*call_.query_rope, index)}, -1);
      result.key = at::cat({result.key, keyPart({*call_.key_rope}, index)}, -1);
    }
    const int64_t queries = result.query.size(1);
    const int64_t keys = result.key.size(1);
    if (call_.position_bias.has_value()) {
      const at::Tensor& bias = *call_.position_bias;
      TORCH_CHECK(bias.dim() == 4, "expected pse_shift of 4 dimensions, but got ", bias.sizes());
      result.bias =
          bias.select(0, bias.size(0) == 1 ? 0 : index).narrow(-2, 0, queries).narrow(-1, 0, keys);
    }
    result.visibility = visibilityOf(call_.mask, maskOptions(), index, queries, keys);
    return result;
  }

  // Where the result of sequence `index` belongs: (heads, queries, size).
  at::Tensor outPart(const at::Tensor& out, int64_t index) const {
    if (packed_) {
      return part(asPacked(out, layouts_.output), query_starts_, index);
    }
    return asBatch(out, layouts_.output, call_.heads)
        .select(0, index)
        .narrow(1, 0, queriesOf(index));
  }
  at::Tensor logsumexpPart(const at::Tensor& logsumexp, int64_t index) const {
    return packed_ ? part(logsumexp.transpose(0, 1), query_starts_, index)
                   : logsumexp.select(0, index).narrow(1, 0, queriesOf(index));
  }

 private:
  // The lengths of single queries are ignored, as CANN's document says: callers give others there.
  int64_t queriesOf(int64_t index) const {
    if (query_.size(2) == 1) return 1;
    return lengthAt(call_.query_lengths, index, query_.size(2), "the queries' lengths");
  }

  at::Tensor queryPart(const at::Tensor& tensor, int64_t index) const {
    if (packed_) {
      return part(asPacked(tensor, layouts_.input), query_starts_, index);
    }
    return asBatch(tensor, layouts_.input, call_.heads)
        .select(0, index)
        .narrow(1, 0, queriesOf(index));
  }

  at::Tensor keyPart(at::TensorList tensors, int64_t index) const {
    const bool one_each = tensors.size() > 1;
    if (paged_) {
      TORCH_CHECK(!one_each, "expected one key and one value cache with a block table");
      const int64_t room = call_.block_table->size(1) * call_.block_size;
      return gatherBlocks(tensors[0], call_.block_table->select(0, index),
                          lengthAt(call_.key_lengths, index, room, "the keys' lengths"), key_heads_,
                          call_.block_size);
    }
    if (packed_) {
      return part(asPacked(tensors[0], layouts_.input), key_starts_, index);
    }
    const auto i = static_cast<size_t>(one_each ? index : 0);
    TORCH_CHECK(i < tensors.size(), "expected a key and a value tensor for every sequence");
    const at::Tensor all = asBatch(tensors[i], layouts_.input, key_heads_);
    TORCH_CHECK(all.size(0) == (one_each ? 1 : count_), "expected keys and values for ",
                one_each ? 1 : count_, " sequences, but got ", tensors[i].sizes());
    return all.select(0, one_each ? 0 : index)
        .narrow(1, 0, lengthAt(call_.key_lengths, index, all.size(2), "the keys' lengths"));
  }

  // A single query without rope sees what the mask leaves, whatever the mode; CANN's fixed triangle
  // then hides nothing.
  MaskOptions maskOptions() const {
    MaskOptions options{call_.sparse_mode, call_.pre_tokens, call_.next_tokens};
    if (!packed_ && query_.size(2) == 1 && !call_.query_rope.has_value()) {
      const bool triangle = call_.sparse_mode >= 2 && call_.sparse_mode <= 4;
      options = triangle ? MaskOptions{.sparse_mode = 4} : MaskOptions{.sparse_mode = 1};
    }
    return options;
  }

  const InferAttention& call_;
  Layouts layouts_;
  bool packed_;
  int64_t key_heads_;
  bool paged_;
  at::Tensor query_;
  int64_t count_ = 0;
  std::vector<int64_t> query_starts_;
  std::vector<int64_t> key_starts_;
};

}  // namespace

at::Tensor gatherBlocks(const at::Tensor& cache, const at::Tensor& blocks, int64_t length,
                        int64_t key_heads, int64_t block_size) {
  TORCH_CHECK(block_size > 0, "a block table needs a block_size, but got ", block_size);
  const int64_t used = (length + block_size - 1) / block_size;
  at::Tensor own = cache.index_select(0, blocks.narrow(0, 0, used));
  if (own.dim() == 3) {  // (blocks, block size, heads * size)
    own = own.unflatten(2, {key_heads, own.size(2) / key_heads});
  }
  if (own.dim() == 5) {
    TORCH_CHECK(own.size(1) == key_heads && own.size(3) == block_size, "the cache's sizes ",
                cache.sizes(), " do not fit ", key_heads, " heads and blocks of ", block_size);
    own = own.permute({0, 3, 1, 2, 4}).flatten(3);
  } else if (own.dim() == 4 && own.size(1) == key_heads && own.size(2) == block_size) {
    own = own.transpose(1, 2);
  }
  TORCH_CHECK(own.dim() == 4 && own.size(1) == block_size && own.size(2) == key_heads,
              "the cache's sizes ", cache.sizes(), " do not fit ", key_heads,
              " heads and blocks of ", block_size);
  return own.flatten(0, 1).narrow(0, 0, length).transpose(0, 1);
}

void inferAttention(const InferAttention& call, at::Tensor& out, const at::Tensor& logsumexp) {
  const Batch batch(call);
  out.zero_();  // what lies beyond a sequence's length
  if (logsumexp.defined()) {
    logsumexp.zero_();
  }
  for (int64_t index = 0; index < batch.count(); ++index) {
    const AttentionResult result = attend(batch.sequence(index));
    batch.outPart(out, index).copy_(result.out);
    if (call.wants_logsumexp) {
      at::Tensor sums = result.sum.log().add_(result.maximum);
      sums.masked_fill_(result.sum.eq(0), std::numeric_limits<double>::infinity());
      batch.logsumexpPart(logsumexp, index).copy_(sums.unsqueeze(-1));
    }
  }
}

void refuse(std::initializer_list<std::pair<const char*, const std::optional<at::Tensor>&>> parts) {
  for (const auto& [name, tensor] : parts) {
    TORCH_CHECK_NOT_IMPLEMENTED(!tensor.has_value(), "the argument ", name,
                                " is not supported; leave it out");
  }
}

}  // namespace softcann::aclnn
