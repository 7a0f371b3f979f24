// Ascend's fused attention for training: npu_fusion_attention and its gradient.
//
// One operator of PyTorch stands for two functions of CANN, for whole batches and for packed
// sequences (layout TND), and for the drawing of dropout's bits. The backward pass draws the same
// bits again from the seed and the offset that the forward pass gave back.

#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "torch_npu/csrc/aten/arguments.h"
#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"
#include "torch_npu/csrc/aten/derivation.h"
#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/aten/random.h"

namespace torch_npu {

namespace {

using at::OptionalIntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

AclnnFunction aclnnDropoutGenMask("aclnnDropoutGenMask");
AclnnFunction aclnnDropoutGenMaskV2Tensor("aclnnDropoutGenMaskV2Tensor");
AclnnFunction aclnnFlashAttentionScoreV2("aclnnFlashAttentionScoreV2");
AclnnFunction aclnnFlashAttentionScoreGradV2("aclnnFlashAttentionScoreGradV2");
AclnnFunction aclnnFlashAttentionVarLenScoreV2("aclnnFlashAttentionVarLenScoreV2");
AclnnFunction aclnnFlashAttentionUnpaddingScoreGradV2("aclnnFlashAttentionUnpaddingScoreGradV2");

constexpr const char* kOperator = "npu_fusion_attention";

// What the variants of the operator share.
struct Call {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  int64_t heads;
  std::string_view layout;
  const OptionalTensor& bias;
  const OptionalTensor& mask;
  double scale;
  double keep_probability;
  int64_t pre_tokens;
  int64_t next_tokens;
  int64_t inner_precise;
  OptionalIntArrayRef prefix;
  OptionalIntArrayRef query_ends;
  OptionalIntArrayRef key_ends;
  int64_t sparse_mode;
  int64_t bias_type;

  bool packed() const { return layout == "TND"; }
};

void check(const Call& call) {
  TORCH_CHECK_VALUE(call.keep_probability > 0 && call.keep_probability <= 1, kOperator,
                    ": expected keep_prob in (0, 1], but got ", call.keep_probability);
  checkOneOf(kOperator, "sparse_mode", call.sparse_mode, {0, 1, 2, 3, 4, 5, 6});
  checkOneOf(kOperator, "pse_type", call.bias_type, {0, 1});
  TORCH_CHECK(call.key.scalar_type() == call.query.scalar_type() &&
                  call.value.scalar_type() == call.query.scalar_type(),
              kOperator, ": expected query, key and value of one dtype, but got ",
              call.query.scalar_type(), ", ", call.key.scalar_type(), " and ",
              call.value.scalar_type());
  TORCH_CHECK(!given(call.mask) || call.mask->scalar_type() == at::kBool ||
                  call.mask->scalar_type() == at::kByte,
              kOperator, ": expected atten_mask of dtype bool or uint8, but got ",
              call.mask->scalar_type());
}

// How many elements of the matrix of weights dropout decides about.
int64_t weights(const Call& call) {
  if (!call.packed()) {
    const Tensor statistics = shapes::attentionStatistics(
        at::empty(call.query.sizes(), call.query.options().device(at::kMeta)), call.heads,
        call.layout);
    const int64_t keys = call.layout == "SBH"    ? call.key.size(0)
                         : call.layout == "BNSD" ? call.key.size(2)
                                                 : call.key.size(1);
    return statistics.size(0) * statistics.size(1) * statistics.size(2) * keys;
  }
  TORCH_CHECK(call.query_ends.has_value() && call.key_ends.has_value() &&
                  call.query_ends->size() == call.key_ends->size(),
              kOperator, ": the layout TND needs actual_seq_qlen and actual_seq_kvlen");
  int64_t total = 0;
  for (size_t i = 0; i < call.query_ends->size(); ++i) {
    const int64_t queries = (*call.query_ends)[i] - (i > 0 ? (*call.query_ends)[i - 1] : 0);
    const int64_t keys = (*call.key_ends)[i] - (i > 0 ? (*call.key_ends)[i - 1] : 0);
    total += std::max<int64_t>(0, queries) * std::max<int64_t>(0, keys);
  }
  return total * call.heads;
}

Tensor roomForBits(const Tensor& like, int64_t count) {
  constexpr int64_t kAlignment = 128;  // bits
  const int64_t bytes = (count + kAlignment - 1) / kAlignment * kAlignment / 8;
  return shapes::sized({bytes}, like, at::kByte);
}

Tensor drawBits(const Tensor& like, at::IntArrayRef shape, double p, int64_t seed, int64_t offset) {
  Tensor bits = roomForBits(like, c10::multiply_integers(shape));
  if (!onMeta(like)) {
    launch(aclnnDropoutGenMask, shape, p, seed, offset, bits);
  }
  return bits;
}

struct Dropout {
  OptionalTensor bits;
  int64_t seed = 0;
  int64_t offset = 0;
  int64_t count = 0;
};

Dropout makeDropout(const Call& call, const OptionalTensor& given_bits, int64_t seed,
                    int64_t offset) {
  Dropout dropout;
  if (call.keep_probability >= 1) {
    return dropout;
  }
  dropout.count = weights(call);
  dropout.seed = seed;
  dropout.offset = offset;
  if (given(given_bits)) {
    dropout.bits = given_bits;
    return dropout;
  }
  if (seed == 0 && !onMeta(call.query)) {
    const RandomState state = drawRandom(std::nullopt, dropout.count);
    dropout.seed = state.seed;
    dropout.offset = state.offset;
  }
  dropout.bits = drawBits(call.query, {dropout.count}, 1 - call.keep_probability, dropout.seed,
                          dropout.offset);
  return dropout;
}

struct Attention {
  Tensor out, maximum, sum, softmax;
};

Attention attend(const Call& call, const OptionalTensor& bits) {
  Tensor out = shapes::trainedAttention(call.query, call.value, call.heads, call.layout, call.key);
  Tensor maximum = shapes::attentionStatistics(call.query, call.heads, call.layout);
  Tensor sum = shapes::like(maximum);
  Tensor softmax = shapes::sized({0}, call.query);  // CANN's reserved output
  const OptionalTensor none;
  if (onMeta(call.query)) {
    // Sizes and dtypes are all there is to know.
  } else if (call.packed()) {
    launch(aclnnFlashAttentionVarLenScoreV2, call.query, call.key, call.value, call.bias, bits,
           none, call.mask, call.prefix, call.query_ends, call.key_ends, OptionalIntArrayRef(),
           OptionalIntArrayRef(), call.scale, call.keep_probability, call.pre_tokens,
           call.next_tokens, call.heads, call.layout, call.inner_precise, call.sparse_mode,
           call.bias_type, maximum, sum, softmax, out);
  } else {
    launch(aclnnFlashAttentionScoreV2, call.query, call.key, call.value, call.bias, bits, none,
           call.mask, call.prefix, OptionalIntArrayRef(), OptionalIntArrayRef(), call.scale,
           call.keep_probability, call.pre_tokens, call.next_tokens, call.heads, call.layout,
           call.inner_precise, call.sparse_mode, call.bias_type, maximum, sum, softmax, out);
  }
  return {std::move(out), std::move(maximum), std::move(sum), std::move(softmax)};
}

using Forward = std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, int64_t>;

Forward forward(const Call& call, const OptionalTensor& dropout_mask, int64_t seed,
                int64_t offset) {
  check(call);
  const Dropout dropout = makeDropout(call, dropout_mask, seed, offset);
  Attention result = attend(call, dropout.bits);
  return {std::move(result.out), std::move(result.maximum),
          std::move(result.sum), std::move(result.softmax),
          dropout.seed,          dropout.offset,
          dropout.count};
}

struct Gradients {
  Tensor query, key, value, bias;
};

Gradients attendBackward(const Call& call, const Tensor& dy, const OptionalTensor& softmax_max,
                         const OptionalTensor& softmax_sum, const OptionalTensor& softmax_in,
                         const OptionalTensor& attention_in, const OptionalTensor& bits) {
  TORCH_CHECK(given(softmax_max) && given(softmax_sum) && given(attention_in), kOperator,
              "_grad: expected softmax_max, softmax_sum and attention_in of the forward pass");
  Gradients gradients{shapes::like(call.query), shapes::like(call.key), shapes::like(call.value),
                      given(call.bias) ? shapes::like(*call.bias) : shapes::sized({0}, call.query)};
  const OptionalTensor none;
  if (onMeta(call.query)) {
    return gradients;
  }
  if (call.packed()) {
    launch(aclnnFlashAttentionUnpaddingScoreGradV2, call.query, call.key, call.value, dy, call.bias,
           bits, none, call.mask, softmax_max, softmax_sum, softmax_in, attention_in, call.prefix,
           call.query_ends, call.key_ends, OptionalIntArrayRef(), OptionalIntArrayRef(), call.scale,
           call.keep_probability, call.pre_tokens, call.next_tokens, call.heads, call.layout,
           call.inner_precise, call.sparse_mode, call.bias_type, gradients.query, gradients.key,
           gradients.value, gradients.bias);
  } else {
    launch(aclnnFlashAttentionScoreGradV2, call.query, call.key, call.value, dy, call.bias, bits,
           none, call.mask, softmax_max, softmax_sum, softmax_in, attention_in, call.prefix,
           OptionalIntArrayRef(), OptionalIntArrayRef(), call.scale, call.keep_probability,
           call.pre_tokens, call.next_tokens, call.heads, call.layout, call.inner_precise,
           call.sparse_mode, call.bias_type, gradients.query, gradients.key, gradients.value,
           gradients.bias);
  }
  return gradients;
}

Gradients backward(const Call& call, const Tensor& dy, const OptionalTensor& softmax_max,
                   const OptionalTensor& softmax_sum, const OptionalTensor& softmax_in,
                   const OptionalTensor& attention_in, int64_t seed, int64_t offset,
                   int64_t numels) {
  check(call);
  OptionalTensor bits;
  if (call.keep_probability < 1) {
    bits = drawBits(call.query, {numels}, 1 - call.keep_probability, seed, offset);
  }
  return attendBackward(call, dy, softmax_max, softmax_sum, softmax_in, attention_in, bits);
}

void refuseOptions(const OptionalTensor& padding_mask, const OptionalTensor& sink,
                   std::string_view softmax_layout, std::string_view layout) {
  checkMissing(kOperator, "padding_mask", padding_mask);
  checkMissing(kOperator, "sink", sink);
  TORCH_CHECK_VALUE(softmax_layout.empty() || (softmax_layout == "TND" && layout == "TND"),
                    kOperator, ": expected softmax_layout to be '', or 'TND' with that layout, ",
                    "but got '", softmax_layout, "'");
}

constexpr int64_t kBiasBeforeScale = 1;

Forward fusionAttention(const Tensor& query, const Tensor& key, const Tensor& value,
                        int64_t head_num, std::string_view input_layout, const OptionalTensor& pse,
                        const OptionalTensor& padding_mask, const OptionalTensor& atten_mask,
                        double scale, double keep_prob, int64_t pre_tockens, int64_t next_tockens,
                        int64_t inner_precise, OptionalIntArrayRef prefix,
                        OptionalIntArrayRef actual_seq_qlen, OptionalIntArrayRef actual_seq_kvlen,
                        int64_t sparse_mode, bool /*gen_mask_parallel*/, bool /*sync*/,
                        std::string_view softmax_layout, const OptionalTensor& sink,
                        const OptionalTensor& dropout_mask, int64_t seed, int64_t offset) {
  refuseOptions(padding_mask, sink, softmax_layout, input_layout);
  return forward({query, key, value, head_num, input_layout, pse, atten_mask, scale, keep_prob,
                  pre_tockens, next_tockens, inner_precise, prefix, actual_seq_qlen,
                  actual_seq_kvlen, sparse_mode, kBiasBeforeScale},
                 dropout_mask, seed, offset);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> fusionAttentionGrad(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy, int64_t head_num,
    std::string_view input_layout, const OptionalTensor& pse, const OptionalTensor& padding_mask,
    const OptionalTensor& atten_mask, const OptionalTensor& softmax_max,
    const OptionalTensor& softmax_sum, const OptionalTensor& softmax_in,
    const OptionalTensor& attention_in, double scale_value, double keep_prob, int64_t pre_tockens,
    int64_t next_tockens, int64_t inner_precise, int64_t seed, int64_t offset, int64_t numels,
    OptionalIntArrayRef prefix, OptionalIntArrayRef actual_seq_qlen,
    OptionalIntArrayRef actual_seq_kvlen, int64_t sparse_mode, bool /*gen_mask_parallel*/,
    bool /*sync*/, std::string_view softmax_layout, const OptionalTensor& sink) {
  refuseOptions(padding_mask, sink, softmax_layout, input_layout);
  Gradients gradients =
      backward({query, key, value, head_num, input_layout, pse, atten_mask, scale_value, keep_prob,
                pre_tockens, next_tockens, inner_precise, prefix, actual_seq_qlen, actual_seq_kvlen,
                sparse_mode, kBiasBeforeScale},
               dy, softmax_max, softmax_sum, softmax_in, attention_in, seed, offset, numels);
  return {std::move(gradients.query), std::move(gradients.key), std::move(gradients.value),
          std::move(gradients.bias), shapes::sized({0}, query)};
}

Forward fusionAttentionV2(const Tensor& query, const Tensor& key, const Tensor& value,
                          int64_t head_num, std::string_view input_layout,
                          const OptionalTensor& pse, const OptionalTensor& padding_mask,
                          const OptionalTensor& atten_mask, const OptionalTensor& query_rope,
                          const OptionalTensor& key_rope, double scale, double keep_prob,
                          int64_t pre_tokens, int64_t next_tokens, int64_t inner_precise,
                          OptionalIntArrayRef prefix, OptionalIntArrayRef actual_seq_qlen,
                          OptionalIntArrayRef actual_seq_kvlen, int64_t sparse_mode,
                          bool /*gen_mask_parallel*/, bool /*sync*/, int64_t pse_type,
                          OptionalIntArrayRef q_start_idx, OptionalIntArrayRef kv_start_idx,
                          std::string_view softmax_layout, const OptionalTensor& sink,
                          const OptionalTensor& dropout_mask, int64_t seed, int64_t offset) {
  refuseOptions(padding_mask, sink, softmax_layout, input_layout);
  checkMissing(kOperator, "query_rope", query_rope);
  checkMissing(kOperator, "key_rope", key_rope);
  checkMissing(kOperator, "q_start_idx", q_start_idx);
  checkMissing(kOperator, "kv_start_idx", kv_start_idx);
  return forward({query, key, value, head_num, input_layout, pse, atten_mask, scale, keep_prob,
                  pre_tokens, next_tokens, inner_precise, prefix, actual_seq_qlen, actual_seq_kvlen,
                  sparse_mode, pse_type},
                 dropout_mask, seed, offset);
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> fusionAttentionGradV2(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy, int64_t head_num,
    std::string_view input_layout, const OptionalTensor& pse, const OptionalTensor& padding_mask,
    const OptionalTensor& atten_mask, const OptionalTensor& softmax_max,
    const OptionalTensor& softmax_sum, const OptionalTensor& softmax_in,
    const OptionalTensor& attention_in, const OptionalTensor& query_rope,
    const OptionalTensor& key_rope, double scale_value, double keep_prob, int64_t pre_tokens,
    int64_t next_tokens, int64_t inner_precise, int64_t seed, int64_t offset, int64_t numels,
    OptionalIntArrayRef prefix, OptionalIntArrayRef actual_seq_qlen,
    OptionalIntArrayRef actual_seq_kvlen, int64_t sparse_mode, bool /*gen_mask_parallel*/,
    bool /*sync*/, int64_t pse_type, OptionalIntArrayRef q_start_idx,
    OptionalIntArrayRef kv_start_idx, std::string_view softmax_layout, const OptionalTensor& sink) {
  refuseOptions(padding_mask, sink, softmax_layout, input_layout);
  checkMissing(kOperator, "query_rope", query_rope);
  checkMissing(kOperator, "key_rope", key_rope);
  checkMissing(kOperator, "q_start_idx", q_start_idx);
  checkMissing(kOperator, "kv_start_idx", kv_start_idx);
  Gradients gradients =
      backward({query, key, value, head_num, input_layout, pse, atten_mask, scale_value, keep_prob,
                pre_tokens, next_tokens, inner_precise, prefix, actual_seq_qlen, actual_seq_kvlen,
                sparse_mode, pse_type},
               dy, softmax_max, softmax_sum, softmax_in, attention_in, seed, offset, numels);
  const Tensor none = shapes::sized({0}, query);
  return {std::move(gradients.query),
          std::move(gradients.key),
          std::move(gradients.value),
          std::move(gradients.bias),
          none,
          none,
          none};
}

// --- version 3: lengths, the seed and the offset are tensors ---------------------------------

// Lengths on the device are waited for; a call without values needs none.
std::optional<std::vector<int64_t>> hostLengths(const Tensor& query,
                                                const OptionalTensor& lengths) {
  if (onMeta(query) || !given(lengths)) {
    return std::nullopt;
  }
  TORCH_CHECK(!lengths->is_meta(), kOperator,
              "_v3: sequence lengths are needed, and tensors without values have none");
  const Tensor host = lengths->cpu().to(at::kLong).contiguous();
  const auto* first = host.const_data_ptr<int64_t>();
  return std::vector<int64_t>(first, first + host.numel());
}

OptionalIntArrayRef asReference(const std::optional<std::vector<int64_t>>& lengths) {
  return lengths ? OptionalIntArrayRef(*lengths) : OptionalIntArrayRef();
}

// Dropout's bits from a seed and an offset that lie on the device.
OptionalTensor bitsOf(const Call& call, const Tensor& seed, const Tensor& offset) {
  if (call.keep_probability >= 1 || onMeta(call.query)) {
    return std::nullopt;
  }
  const int64_t count = weights(call);
  Tensor bits = roomForBits(call.query, count);
  launch(aclnnDropoutGenMaskV2Tensor, at::IntArrayRef(count), 1 - call.keep_probability, seed,
         offset, int64_t{0}, call.query.scalar_type(), bits);
  return bits;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> fusionAttentionV3(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t head_num,
    std::string_view input_layout, const OptionalTensor& pse, const OptionalTensor& padding_mask,
    const OptionalTensor& atten_mask, double scale, double keep_prob, int64_t pre_tockens,
    int64_t next_tockens, int64_t inner_precise, OptionalIntArrayRef prefix,
    const OptionalTensor& actual_seq_qlen, const OptionalTensor& actual_seq_kvlen,
    int64_t sparse_mode, bool /*gen_mask_parallel*/, bool /*sync*/, std::string_view softmax_layout,
    const OptionalTensor& sink) {
  refuseOptions(padding_mask, sink, softmax_layout, input_layout);
  const auto query_ends = hostLengths(query, actual_seq_qlen);
  const auto key_ends = hostLengths(query, actual_seq_kvlen);
  const Call call{query,
                  key,
                  value,
                  head_num,
                  input_layout,
                  pse,
                  atten_mask,
                  scale,
                  keep_prob,
                  pre_tockens,
                  next_tockens,
                  inner_precise,
                  prefix,
                  asReference(query_ends),
                  asReference(key_ends),
                  sparse_mode,
                  kBiasBeforeScale};
  check(call);
  Tensor seed = shapes::sized({1}, query, at::kLong);
  Tensor offset = shapes::sized({1}, query, at::kLong);
  if (!onMeta(query)) {
    const RandomState state =
        keep_prob < 1 ? drawRandom(std::nullopt, weights(call)) : RandomState{};
    seed.fill_(state.seed);
    offset.fill_(state.offset);
  }
  Attention result = attend(call, bitsOf(call, seed, offset));
  return {std::move(result.out),     std::move(result.maximum), std::move(result.sum),
          std::move(result.softmax), std::move(seed),           std::move(offset)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> fusionAttentionGradV3(
    const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& dy, int64_t head_num,
    std::string_view input_layout, const OptionalTensor& pse, const OptionalTensor& padding_mask,
    const OptionalTensor& atten_mask, const OptionalTensor& softmax_max,
    const OptionalTensor& softmax_sum, const OptionalTensor& softmax_in,
    const OptionalTensor& attention_in, double scale_value, double keep_prob, int64_t pre_tockens,
    int64_t next_tockens, int64_t inner_precise, const OptionalTensor& seed,
    const OptionalTensor& offset, OptionalIntArrayRef prefix, const OptionalTensor& actual_seq_qlen,
    const OptionalTensor& actual_seq_kvlen, int64_t sparse_mode, bool /*gen_mask_parallel*/,
    bool /*sync*/, std::string_view softmax_layout, const OptionalTensor& sink) {
  refuseOptions(padding_mask, sink, softmax_layout, input_layout);
  const auto query_ends = hostLengths(query, actual_seq_qlen);
  const auto key_ends = hostLengths(query, actual_seq_kvlen);
  const Call call{query,
                  key,
                  value,
                  head_num,
                  input_layout,
                  pse,
                  atten_mask,
                  scale_value,
                  keep_prob,
                  pre_tockens,
                  next_tockens,
                  inner_precise,
                  prefix,
                  asReference(query_ends),
                  asReference(key_ends),
                  sparse_mode,
                  kBiasBeforeScale};
  check(call);
  TORCH_CHECK(keep_prob >= 1 || (given(seed) && given(offset)), kOperator,
              "_grad_v3: dropout needs the forward pass's seed and offset");
  const OptionalTensor bits = keep_prob < 1 ? bitsOf(call, *seed, *offset) : std::nullopt;
  Gradients gradients =
      attendBackward(call, dy, softmax_max, softmax_sum, softmax_in, attention_in, bits);
  return {std::move(gradients.query), std::move(gradients.key), std::move(gradients.value),
          std::move(gradients.bias), shapes::sized({0}, query)};
}

Tensor genMask(const Tensor& self, at::IntArrayRef size, double p, int64_t seed, int64_t offset,
               std::optional<bool> /*parallel*/, std::optional<bool> /*sync*/) {
  return drawBits(self, size, p, seed, offset);
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def(
      "npu_fusion_attention(Tensor query, Tensor key, Tensor value, int head_num, str "
      "input_layout, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, "
      "float scale=1., float keep_prob=1., int pre_tockens=2147483647, int "
      "next_tockens=2147483647, int inner_precise=0, int[]? prefix=None, int[]? "
      "actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int sparse_mode=0, bool "
      "gen_mask_parallel=True, bool sync=False, str softmax_layout=\"\", Tensor? sink=None, "
      "Tensor? dropout_mask=None, int seed=0, int offset=0) -> (Tensor, Tensor, Tensor, Tensor,"
      " int, int, int)");
  m.def(
      "npu_fusion_attention_grad(Tensor query, Tensor key, Tensor value, Tensor dy, int "
      "head_num, str input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? "
      "atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, Tensor? "
      "softmax_in=None, Tensor? attention_in=None, float scale_value=1., float keep_prob=1., "
      "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int "
      "seed=0, int offset=0, int numels=0, int[]? prefix=None, int[]? actual_seq_qlen=None, "
      "int[]? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool "
      "sync=False, str softmax_layout=\"\", Tensor? sink=None) -> (Tensor, Tensor, Tensor, "
      "Tensor, Tensor)");
  m.def(
      "npu_fusion_attention_v2(Tensor query, Tensor key, Tensor value, int head_num, str "
      "input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, "
      "Tensor? query_rope=None, Tensor? key_rope=None, float scale=1., float keep_prob=1., int "
      "pre_tokens=2147483647, int next_tokens=2147483647, int inner_precise=0, int[]? "
      "prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int "
      "sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, int pse_type=1, int[]? "
      "q_start_idx=None, int[]? kv_start_idx=None, str softmax_layout=\"\", Tensor? sink=None, "
      "Tensor? dropout_mask=None, int seed=0, int offset=0) -> (Tensor, Tensor, Tensor, Tensor,"
      " int, int, int)");
  m.def(
      "npu_fusion_attention_grad_v2(Tensor query, Tensor key, Tensor value, Tensor dy, int "
      "head_num, str input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? "
      "atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, Tensor? "
      "softmax_in=None, Tensor? attention_in=None, Tensor? query_rope=None, Tensor? "
      "key_rope=None, float scale_value=1., float keep_prob=1., int pre_tokens=2147483647, int "
      "next_tokens=2147483647, int inner_precise=0, int seed=0, int offset=0, int numels=0, "
      "int[]? prefix=None, int[]? actual_seq_qlen=None, int[]? actual_seq_kvlen=None, int "
      "sparse_mode=0, bool gen_mask_parallel=True, bool sync=False, int pse_type=1, int[]? "
      "q_start_idx=None, int[]? kv_start_idx=None, str softmax_layout=\"\", Tensor? sink=None) ->"
      " (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)");
  m.def(
      "npu_fusion_attention_v3(Tensor query, Tensor key, Tensor value, int head_num, str "
      "input_layout, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, "
      "float scale=1., float keep_prob=1., int pre_tockens=2147483647, int "
      "next_tockens=2147483647, int inner_precise=0, SymInt[]? prefix=None, Tensor? "
      "actual_seq_qlen=None, Tensor? actual_seq_kvlen=None, int sparse_mode=0, bool "
      "gen_mask_parallel=True, bool sync=False, str softmax_layout=\"\", Tensor? sink=None) -> "
      "(Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)");
  m.def(
      "npu_fusion_attention_grad_v3(Tensor query, Tensor key, Tensor value, Tensor dy, int "
      "head_num, str input_layout, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? "
      "atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, Tensor? "
      "softmax_in=None, Tensor? attention_in=None, float scale_value=1., float keep_prob=1., "
      "int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, Tensor? "
      "seed=None, Tensor? offset=None, SymInt[]? prefix=None, Tensor? actual_seq_qlen=None, "
      "Tensor? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool "
      "sync=False, str softmax_layout=\"\", Tensor? sink=None) -> (Tensor, Tensor, Tensor, "
      "Tensor, Tensor)");
  m.def(
      "_npu_dropout_gen_mask.Tensor(Tensor self, int[] size, float p, int seed, int offset, *, "
      "bool? parallel=True, bool? sync=None) -> Tensor");
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {
  m.impl("npu_fusion_attention", TORCH_FN(fusionAttention));
  m.impl("npu_fusion_attention_grad", TORCH_FN(fusionAttentionGrad));
  m.impl("npu_fusion_attention_v2", TORCH_FN(fusionAttentionV2));
  m.impl("npu_fusion_attention_grad_v2", TORCH_FN(fusionAttentionGradV2));
  m.impl("npu_fusion_attention_v3", TORCH_FN(fusionAttentionV3));
  m.impl("npu_fusion_attention_grad_v3", TORCH_FN(fusionAttentionGradV3));
  m.impl("_npu_dropout_gen_mask.Tensor", TORCH_FN(genMask));
}

TORCH_LIBRARY_IMPL(npu, Meta, m) {
  m.impl("npu_fusion_attention", TORCH_FN(fusionAttention));
  m.impl("npu_fusion_attention_grad", TORCH_FN(fusionAttentionGrad));
  m.impl("npu_fusion_attention_v2", TORCH_FN(fusionAttentionV2));
  m.impl("npu_fusion_attention_grad_v2", TORCH_FN(fusionAttentionGradV2));
  m.impl("npu_fusion_attention_v3", TORCH_FN(fusionAttentionV3));
  m.impl("npu_fusion_attention_grad_v3", TORCH_FN(fusionAttentionGradV3));
}

// Positions in the operators' schemas.
const Derivative kDerivative{
    .name = "npu::npu_fusion_attention",
    .backward = {"npu::npu_fusion_attention_grad", ""},
    .targets = {0, 1, 2, 5},
    .inputs = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
    .described = {},
    .outputs = {0, 1, 2, 3, 4, 5, 6},
    .gradients = {0},
    .arguments = [](const Derivation& call) -> torch::jit::Stack {
      torch::jit::Stack stack = {call.input(0), call.input(1), call.input(2), call.grad(0)};
      for (size_t i = 3; i <= 7; ++i) stack.push_back(call.input(i));
      for (const size_t i : {1, 2, 3, 0}) stack.push_back(call.result(i));
      for (size_t i = 8; i <= 12; ++i) stack.push_back(call.input(i));
      for (const size_t i : {4, 5, 6}) stack.push_back(call.result(i));
      for (size_t i = 13; i <= 20; ++i) stack.push_back(call.input(i));
      return stack;
    }};

const Derivative kDerivativeV2{.name = "npu::npu_fusion_attention_v2",
                               .backward = {"npu::npu_fusion_attention_grad_v2", ""},
                               .targets = {0, 1, 2, 5},
                               .inputs = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                                          13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25},
                               .described = {},
                               .outputs = {0, 1, 2, 3, 4, 5, 6},
                               .gradients = {0},
                               .arguments = [](const Derivation& call) -> torch::jit::Stack {
                                 torch::jit::Stack stack = {call.input(0), call.input(1),
                                                            call.input(2), call.grad(0)};
                                 for (size_t i = 3; i <= 7; ++i) stack.push_back(call.input(i));
                                 for (const size_t i : {1, 2, 3, 0})
                                   stack.push_back(call.result(i));
                                 for (size_t i = 8; i <= 14; ++i) stack.push_back(call.input(i));
                                 for (const size_t i : {4, 5, 6}) stack.push_back(call.result(i));
                                 for (size_t i = 15; i <= 25; ++i) stack.push_back(call.input(i));
                                 return stack;
                               }};

const Derivative kDerivativeV3{
    .name = "npu::npu_fusion_attention_v3",
    .backward = {"npu::npu_fusion_attention_grad_v3", ""},
    .targets = {0, 1, 2, 5},
    .inputs = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20},
    .described = {},
    .outputs = {0, 1, 2, 3, 4, 5},
    .gradients = {0},
    .arguments = [](const Derivation& call) -> torch::jit::Stack {
      torch::jit::Stack stack = {call.input(0), call.input(1), call.input(2), call.grad(0)};
      for (size_t i = 3; i <= 7; ++i) stack.push_back(call.input(i));
      for (const size_t i : {1, 2, 3, 0}) stack.push_back(call.result(i));
      for (size_t i = 8; i <= 12; ++i) stack.push_back(call.input(i));
      for (const size_t i : {4, 5}) stack.push_back(call.result(i));
      for (size_t i = 13; i <= 20; ++i) stack.push_back(call.input(i));
      return stack;
    }};

TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {
  m.impl("npu_fusion_attention", differentiable({&kDerivative}));
  m.impl("npu_fusion_attention_v2", differentiable({&kDerivativeV2}));
  m.impl("npu_fusion_attention_v3", differentiable({&kDerivativeV3}));
  for (const char* gradient : {"npu_fusion_attention_grad", "npu_fusion_attention_grad_v2",
                               "npu_fusion_attention_grad_v3"}) {
    m.impl(gradient, torch::autograd::autogradNotImplementedFallback());
  }
}

}  // namespace torch_npu
