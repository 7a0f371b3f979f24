#include "aclnn/kernels/infer_attention.h"

#include <ATen/ops/cat.h>

#include <string>

#include "aclnn/kernels/attention_core.h"
#include "aclnn/kernels/attention_layout.h"
#include "aclnn/kernels/quantization.h"

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

// Where the tokens of a row begin: at its start, or, if padding is in front, so far from its end.
int64_t firstToken(const std::optional<at::Tensor>& padding, int64_t room, int64_t length,
                   const char* what) {
  if (!padding.has_value() || padding->is_meta()) {
    return 0;
  }
  TORCH_CHECK(padding->numel() == 1, "expected ", what, " of one number, but got ",
              padding->sizes());
  const int64_t first = room - std::max<int64_t>(0, padding->item<int64_t>()) - length;
  TORCH_CHECK(first >= 0, "expected ", what, " of at most ", room - length, " for ", length,
              " tokens in rows of ", room, ", but got ", padding->item<int64_t>());
  return first;
}

// int4 numbers as int8 numbers.
at::Tensor unpacked(const at::Tensor& numbers) {
  return numbers.scalar_type() == at::kInt ? unpackInt4(numbers) : numbers;
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
    TORCH_CHECK(call.key_prefix.has_value() == call.value_prefix.has_value(),
                "expected key_shared_prefix and value_shared_prefix together");
    TORCH_CHECK(!call.key_prefix.has_value() || (!paged_ && !packed_ && !call.key_padding),
                "shared prefixes do not go with a block table, a packed layout or padding in "
                "front");
    TORCH_CHECK(!(call.query_padding || call.key_padding) || (!paged_ && !packed_),
                "padding in front does not go with a block table or a packed layout");
    TORCH_CHECK((query_.scalar_type() == at::kChar) == call.query_scale.has_value(),
                "expected a dequantisation scale of the query for a query in int8, and for no "
                "other");
  }

  int64_t count() const { return count_; }

  Sequence sequence(int64_t index) const {
    Sequence result{.query = scaledQuery(index),
                    .key = numbers(call_.key, call_.key_antiquant, call_.key_prefix, index),
                    .value = numbers(call_.value, call_.value_antiquant, call_.value_prefix, index),
                    .bias = {},
                    .bias_scaled = false,
                    .sink = call_.sink.value_or(at::Tensor()),
                    .kept = {},
                    .keep_probability = 1.0,
                    .scale = call_.scale,
                    .visibility = {}};
    if (call_.query_rope.has_value()) {
      result.query = at::cat(
          {result.query, queryPart(*call_.query_rope, index).to(result.query.scalar_type())}, -1);
      result.key =
          at::cat({result.key, keyPart({*call_.key_rope}, index).to(result.key.scalar_type())}, -1);
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
        .narrow(1, firstQuery(index), queriesOf(index));
  }
  at::Tensor logsumexpPart(const at::Tensor& logsumexp, int64_t index) const {
    return packed_ ? part(logsumexp.transpose(0, 1), query_starts_, index)
                   : logsumexp.select(0, index).narrow(1, firstQuery(index), queriesOf(index));
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
        .narrow(1, firstQuery(index), queriesOf(index));
  }

  int64_t firstQuery(int64_t index) const {
    if (query_.size(2) == 1) return 0;
    return firstToken(call_.query_padding, query_.size(2), queriesOf(index), "query_padding_size");
  }

  // The scale of a query in int8 has the query's layout without the last dimension.
  at::Tensor scaledQuery(int64_t index) const {
    const at::Tensor query = queryPart(call_.query, index);
    if (!call_.query_scale.has_value()) {
      return query;
    }
    const bool merged = layouts_.input == "BSH" || layouts_.input == "SBH";
    const at::Tensor scale = merged ? *call_.query_scale : call_.query_scale->unsqueeze(-1);
    return query.to(at::kFloat).mul_(queryPart(scale, index));
  }

  // Keys or values of a sequence: the shared prefix and its own tokens, as what they stand for.
  at::Tensor numbers(at::TensorList tensors, const Antiquantization& antiquant,
                     const std::optional<at::Tensor>& prefix, int64_t index) const {
    at::Tensor own = keyPart(tensors, index);
    if (antiquant.scale.has_value()) {
      const at::Tensor blocks = paged_ ? call_.block_table->select(0, index) : at::Tensor();
      own = dequantized(own, antiquant,
                        {index, firstKey(index, own.size(1)), blocks, call_.block_size});
    }
    if (!prefix.has_value()) {
      return own;
    }
    const at::Tensor all = asBatch(unpacked(*prefix), layouts_.input, key_heads_);
    TORCH_CHECK(all.size(0) == 1, "expected a shared prefix of one batch, but got ",
                prefix->sizes());
    at::Tensor shared = all.select(0, 0).narrow(
        1, 0, lengthAt(call_.prefix_length, 0, all.size(2), "actual_shared_prefix_len"));
    if (antiquant.scale.has_value()) {
      TORCH_CHECK_NOT_IMPLEMENTED(antiquant.mode == 0 || antiquant.mode == 2,
                                  "a quantised shared prefix needs scales that all tokens share");
      shared = dequantized(shared, antiquant, {0, 0, at::Tensor(), 0});
    }
    return at::cat({shared, own}, 1);
  }

  int64_t firstKey(int64_t index, int64_t length) const {
    if (!call_.key_padding.has_value()) return 0;
    const size_t i = call_.key.size() > 1 ? static_cast<size_t>(index) : 0;
    return firstToken(call_.key_padding,
                      asBatch(unpacked(call_.key[i]), layouts_.input, key_heads_).size(2), length,
                      "kv_padding_size");
  }

  at::Tensor keyPart(at::TensorList tensors, int64_t index) const {
    const bool one_each = tensors.size() > 1;
    if (paged_) {
      TORCH_CHECK(!one_each, "expected one key and one value cache with a block table");
      const int64_t room = call_.block_table->size(1) * call_.block_size;
      return gatherBlocks(unpacked(tensors[0]), call_.block_table->select(0, index),
                          lengthAt(call_.key_lengths, index, room, "the keys' lengths"), key_heads_,
                          call_.block_size);
    }
    if (packed_) {
      return part(asPacked(unpacked(tensors[0]), layouts_.input), key_starts_, index);
    }
    const auto i = static_cast<size_t>(one_each ? index : 0);
    TORCH_CHECK(i < tensors.size(), "expected a key and a value tensor for every sequence");
    const at::Tensor all = asBatch(unpacked(tensors[i]), layouts_.input, key_heads_);
    TORCH_CHECK(all.size(0) == (one_each ? 1 : count_), "expected keys and values for ",
                one_each ? 1 : count_, " sequences, but got ", tensors[i].sizes());
    const int64_t length = lengthAt(call_.key_lengths, index, all.size(2), "the keys' lengths");
    return all.select(0, one_each ? 0 : index)
        .narrow(1, firstToken(call_.key_padding, all.size(2), length, "kv_padding_size"), length);
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

namespace {

// `result` is (heads, rows, size).
void store(const at::Tensor& result, const InferAttention& call, at::Tensor out) {
  if (!call.out_scale.has_value()) {
    TORCH_CHECK(out.scalar_type() != at::kChar, "an output in int8 needs the scale to quantise it");
    out.copy_(result);
    return;
  }
  TORCH_CHECK(out.scalar_type() == at::kChar, "expected a quantised output in int8, but got ",
              out.scalar_type());
  const auto spread = [&](const at::Tensor& parameters) {
    const int64_t heads = result.size(0), size = result.size(2);
    TORCH_CHECK(parameters.numel() == 1 || parameters.numel() == heads * size,
                "expected one or heads * size numbers to quantise the output, but got ",
                parameters.sizes());
    const at::Tensor wide = parameters.to(result.scalar_type());
    return wide.numel() == 1 ? wide.reshape({1, 1, 1}) : wide.reshape({heads, 1, size});
  };
  at::Tensor values = result.mul(spread(*call.out_scale));
  if (call.out_offset.has_value()) {
    values.add_(spread(*call.out_offset));
  }
  storeRounded(values, out);
}

}  // namespace

void inferAttention(const InferAttention& call, at::Tensor& out, const at::Tensor& logsumexp) {
  const Batch batch(call);
  out.zero_();  // what lies beyond a sequence's length
  if (logsumexp.defined()) {
    logsumexp.zero_();
  }
  for (int64_t index = 0; index < batch.count(); ++index) {
    const AttentionResult result = attend(batch.sequence(index));
    store(result.out, call, batch.outPart(out, index));
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
