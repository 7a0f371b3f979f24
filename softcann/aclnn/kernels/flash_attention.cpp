#include "aclnn/kernels/flash_attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/zeros.h>

#include <vector>

#include "aclnn/kernels/attention_core.h"
#include "aclnn/kernels/attention_layout.h"
#include "aclnn/kernels/random.h"

namespace softcann::aclnn {

namespace {

constexpr int64_t kCopies = 8;

at::Tensor unpackedBits(const at::Tensor& bits) {
  const at::Tensor places = at::arange(8, bits.options());
  return bits.flatten().unsqueeze(1).bitwise_right_shift(places).bitwise_and(1).flatten().to(
      at::kBool);
}

// The sequences of a call, one after another.
class Sequences {
 public:
  explicit Sequences(const FlashAttention& call) : call_(call), packed_(call.layout == "TND") {
    TORCH_CHECK_NOT_IMPLEMENTED(!call.padding_mask.has_value(),
                                "the argument padding_mask is not supported; use atten_mask");
    TORCH_CHECK_NOT_IMPLEMENTED(call.bias_type == 0 || call.bias_type == 1, "pse_type ",
                                call.bias_type, " is not supported; use 0 or 1");
    TORCH_CHECK_VALUE(call.keep_probability > 0 && call.keep_probability <= 1,
                      "expected keep_prob in (0, 1], but got ", call.keep_probability);
    TORCH_CHECK(call.query_rope.has_value() == call.key_rope.has_value(),
                "expected query_rope and key_rope together");
    TORCH_CHECK(!call.query_rope.has_value() || packed_,
                "query_rope and key_rope need the layout TND, but got ", call.layout);
    TORCH_CHECK(
        !call.sink.has_value() || (call.sink->dim() == 1 && call.sink->size(0) == call.heads),
        "expected a sink for each of ", call.heads, " heads, but got ",
        call.sink.has_value() ? call.sink->sizes() : at::IntArrayRef());
    if (packed_) {
      TORCH_CHECK(call.query_ends.has_value() && call.key_ends.has_value() &&
                      call.query_ends->size() == call.key_ends->size(),
                  "the layout TND needs actual_seq_qlen and actual_seq_kvlen of the same length");
      query_starts_ = boundaries(*call.query_ends, call.query.size(0), "actual_seq_qlen");
      key_starts_ = boundaries(*call.key_ends, call.key.size(0), "actual_seq_kvlen");
      count_ = static_cast<int64_t>(call.query_ends->size());
    } else {
      const at::Tensor query = asBatch(call.query, call.layout, call.heads);
      count_ = query.size(0);
      key_heads_ = keyHeads(query);
    }
    if (call.dropout_bits.has_value() && call.keep_probability < 1) {
      kept_ = unpackedBits(*call.dropout_bits);
    }
  }

  int64_t count() const { return count_; }
  bool packed() const { return packed_; }

  // Sequence `index` of a tensor in the call's layout, as (heads, length, size).
  at::Tensor queryPart(const at::Tensor& tensor, int64_t index) const {
    return part(tensor, index, query_starts_, call_.heads);
  }
  at::Tensor keyPart(const at::Tensor& tensor, int64_t index) const {
    return part(tensor, index, key_starts_, key_heads_);
  }
  // Of (B, N, S, 8) or (T, N, 8), as (heads, length).
  at::Tensor statisticPart(const at::Tensor& tensor, int64_t index) const {
    if (!packed_) {
      return tensor.select(0, index).select(-1, 0);
    }
    return range(tensor.transpose(0, 1), query_starts_, index).select(-1, 0);
  }
  at::Tensor statisticCopies(const at::Tensor& tensor, int64_t index) const {
    return packed_ ? range(tensor.transpose(0, 1), query_starts_, index) : tensor.select(0, index);
  }

  // Must be called in order: dropout's bits follow each other.
  Sequence next(int64_t index) {
    Sequence sequence{.query = queryPart(call_.query, index),
                      .key = keyPart(call_.key, index),
                      .value = keyPart(call_.value, index),
                      .bias = biasPart(index),
                      .bias_scaled = call_.bias_type == 1,
                      .sink = call_.sink.value_or(at::Tensor()),
                      .kept = {},
                      .keep_probability = call_.keep_probability,
                      .scale = call_.scale,
                      .visibility = {}};
    if (call_.query_rope.has_value()) {
      sequence.query = at::cat({sequence.query, queryPart(*call_.query_rope, index)}, -1);
      sequence.key = at::cat({sequence.key, keyPart(*call_.key_rope, index)}, -1);
    }
    const int64_t queries = sequence.query.size(1);
    const int64_t keys = sequence.key.size(1);
    const int64_t prefix = call_.sparse_mode == 6 && call_.prefix.has_value() ? prefixOf(index) : 0;
    sequence.visibility =
        visibilityOf(call_.mask, {call_.sparse_mode, call_.pre_tokens, call_.next_tokens}, index,
                     queries, keys, prefix);
    if (kept_.defined()) {
      const int64_t heads = sequence.query.size(0);
      const int64_t bits = heads * queries * keys;
      TORCH_CHECK(used_bits_ + bits <= kept_.numel(), "expected a dropout mask of at least ",
                  used_bits_ + bits, " bits, but got ", kept_.numel());
      sequence.kept = kept_.narrow(0, used_bits_, bits).view({heads, queries, keys});
      used_bits_ += bits;
    }
    return sequence;
  }

  at::Tensor biasPart(int64_t index) const {
    if (!call_.position_bias.has_value()) {
      return {};
    }
    const at::Tensor& bias = *call_.position_bias;
    TORCH_CHECK_NOT_IMPLEMENTED(bias.dim() == 4, "pse of ", bias.dim(),
                                " dimensions is not supported; give (B, N, "
                                "S, S), (B, N, 1, S) or (1, N, S, S)");
    return bias.size(0) == 1 ? bias.select(0, 0) : bias.select(0, index);
  }

 private:
  int64_t keyHeads(const at::Tensor& query) const {
    const std::string_view layout = call_.layout;
    if (layout == "BSH" || layout == "SBH") {
      return call_.key.size(-1) / std::max<int64_t>(1, query.size(3));
    }
    return call_.key.size(layout == "BNSD" ? 1 : 2);
  }
  static at::Tensor range(const at::Tensor& tensor, const std::vector<int64_t>& starts,
                          int64_t index) {
    const auto i = static_cast<size_t>(index);
    return tensor.narrow(1, starts[i], starts[i + 1] - starts[i]);
  }
  at::Tensor part(const at::Tensor& tensor, int64_t index, const std::vector<int64_t>& starts,
                  int64_t heads) const {
    return packed_ ? range(asPacked(tensor, call_.layout), starts, index)
                   : asBatch(tensor, call_.layout, heads).select(0, index);
  }
  int64_t prefixOf(int64_t index) const {
    const auto i = static_cast<size_t>(index);
    TORCH_CHECK(i < call_.prefix->size(), "expected one prefix length per sequence, but got ",
                *call_.prefix);
    return (*call_.prefix)[i];
  }

  const FlashAttention& call_;
  bool packed_;
  int64_t count_ = 0;
  int64_t key_heads_ = 0;
  std::vector<int64_t> query_starts_;
  std::vector<int64_t> key_starts_;
  at::Tensor kept_;
  int64_t used_bits_ = 0;
};

}  // namespace

const std::optional<at::Tensor> FlashAttention::kNone;

void flashAttention(const FlashAttention& call, at::Tensor& softmax_max, at::Tensor& softmax_sum,
                    at::Tensor& out) {
  Sequences sequences(call);
  if (sequences.packed()) {
    out.zero_();  // tokens beyond the last sequence
  }
  for (int64_t index = 0; index < sequences.count(); ++index) {
    const AttentionResult result = attend(sequences.next(index));
    sequences.queryPart(out, index).copy_(result.out);
    sequences.statisticCopies(softmax_max, index).copy_(result.maximum.unsqueeze(-1));
    sequences.statisticCopies(softmax_sum, index).copy_(result.sum.unsqueeze(-1));
  }
}

namespace {

bool wanted(const at::Tensor& gradient) { return gradient.defined() && gradient.numel() > 0; }

// A sum over the sequences, kept in float32 until the end.
class Accumulated {
 public:
  explicit Accumulated(const at::Tensor& out) : out_(out) {
    if (wanted(out)) sum_ = at::zeros(out.sizes(), out.options().dtype(at::kFloat));
  }
  bool defined() const { return sum_.defined(); }
  at::Tensor& sum() { return sum_; }
  void store() const {
    if (sum_.defined()) out_.copy_(sum_);
  }

 private:
  at::Tensor out_;
  at::Tensor sum_;
};

// The gradient of two tensors that were joined in the last dimension; the second may be missing.
void giveParts(at::Tensor first, at::Tensor second, const at::Tensor& gradient) {
  first.copy_(gradient.narrow(-1, 0, first.size(-1)));
  if (second.defined()) {
    second.copy_(gradient.narrow(-1, first.size(-1), second.size(-1)));
  }
}

}  // namespace

void flashAttentionGrad(const FlashAttention& call, const at::Tensor& grad_out,
                        const std::optional<at::Tensor>& softmax_max,
                        const std::optional<at::Tensor>& softmax_sum,
                        const std::optional<at::Tensor>& out, at::Tensor& grad_query,
                        at::Tensor& grad_key, at::Tensor& grad_value,
                        const OptionalGradients& optional) {
  TORCH_CHECK(softmax_max.has_value() && softmax_sum.has_value() && out.has_value(),
              "the gradient of attention needs softmax_max, softmax_sum and attention_in");
  TORCH_CHECK(softmax_max->dim() >= 1 && softmax_max->size(-1) == kCopies,
              "expected softmax_max with a last dimension of ", kCopies, ", but got ",
              softmax_max->sizes());
  const bool with_rope = call.query_rope.has_value() && wanted(optional.query_rope);
  Sequences sequences(call);
  if (sequences.packed()) {
    for (const at::Tensor& gradient :
         {grad_query, grad_key, grad_value, optional.query_rope, optional.key_rope}) {
      if (gradient.defined()) gradient.zero_();
    }
  }
  Accumulated bias(optional.bias), sink(optional.sink);
  for (int64_t index = 0; index < sequences.count(); ++index) {
    const Sequence sequence = sequences.next(index);
    const AttentionGradients gradients = attendBackward(
        sequence, sequences.queryPart(grad_out, index),
        {sequences.queryPart(*out, index), sequences.statisticPart(*softmax_max, index),
         sequences.statisticPart(*softmax_sum, index)});
    giveParts(sequences.queryPart(grad_query, index),
              with_rope ? sequences.queryPart(optional.query_rope, index) : at::Tensor(),
              gradients.query);
    giveParts(sequences.keyPart(grad_key, index),
              with_rope ? sequences.keyPart(optional.key_rope, index) : at::Tensor(),
              gradients.key);
    sequences.keyPart(grad_value, index).copy_(gradients.value);
    if (bias.defined() && gradients.bias.defined()) {
      at::Tensor own = bias.sum().select(0, bias.sum().size(0) == 1 ? 0 : index);
      own.add_(gradients.bias.sum_to_size(own.sizes()));
    }
    if (sink.defined() && gradients.sink.defined()) {
      sink.sum().add_(gradients.sink);
    }
  }
  bias.store();
  sink.store();
}

void dropoutBits(at::IntArrayRef shape, double p, int64_t seed, int64_t offset, at::Tensor& out) {
  TORCH_CHECK(out.numel() * 8 >= c10::multiply_integers(shape), "expected room for ",
              c10::multiply_integers(shape), " bits, but got ", out.numel(), " bytes");
  const at::Tensor kept =
      at::rand({out.numel(), 8},
               generatorAt(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)),
               out.options().dtype(at::kFloat))
          .ge(p);
  const at::Tensor places = at::arange(8, out.options().dtype(at::kInt));
  out.copy_(kept.to(at::kInt).bitwise_left_shift(places).sum(1).view(out.sizes()));
}

}  // namespace softcann::aclnn
