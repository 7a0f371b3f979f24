// Ascend's fused attention for training: npu_fusion_attention and its gradient.
//
// One operator of PyTorch stands for several functions of CANN, for whole batches and for packed
// sequences (layout TND), with and without a sink or parts for rotary positions, and for the
// drawing of dropout's bits. The backward pass draws the same bits again from the seed and the
// offset that the forward pass gave back. The three versions of the operator differ in arguments;
// one boxed kernel serves them all, which finds arguments by their names in the schema.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <vector>

#include "torch_npu/csrc/aten/arguments.h"
#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"
#include "torch_npu/csrc/aten/derivation.h"
#include "torch_npu/csrc/aten/device_generator.h"
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
AclnnFunction aclnnFlashAttentionScoreV3("aclnnFlashAttentionScoreV3");
AclnnFunction aclnnFlashAttentionScoreGradV2("aclnnFlashAttentionScoreGradV2");
AclnnFunction aclnnFlashAttentionScoreGradV3("aclnnFlashAttentionScoreGradV3");
AclnnFunction aclnnFlashAttentionVarLenScoreV2("aclnnFlashAttentionVarLenScoreV2");
AclnnFunction aclnnFlashAttentionVarLenScoreV3("aclnnFlashAttentionVarLenScoreV3");
AclnnFunction aclnnFlashAttentionVarLenScoreV5("aclnnFlashAttentionVarLenScoreV5");
AclnnFunction aclnnFlashAttentionUnpaddingScoreGradV2("aclnnFlashAttentionUnpaddingScoreGradV2");
AclnnFunction aclnnFlashAttentionUnpaddingScoreGradV3("aclnnFlashAttentionUnpaddingScoreGradV3");
AclnnFunction aclnnFlashAttentionUnpaddingScoreGradV5("aclnnFlashAttentionUnpaddingScoreGradV5");

constexpr const char* kOperator = "npu_fusion_attention";

using Names = std::initializer_list<const char*>;

// The arguments of a call by the names that the operator's schema gives them.
class Named {
 public:
  Named(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> values)
      : schema_(schema), values_(values) {}

  // Versions spell some arguments differently and lack others.
  const c10::IValue* find(Names names) const {
    for (const char* name : names) {
      if (const auto index = schema_.argumentIndexWithName(name)) {
        return &values_[static_cast<size_t>(*index)];
      }
    }
    return nullptr;
  }
  Tensor tensor(const char* name) const { return find({name})->toTensor(); }
  OptionalTensor optionalTensor(const char* name) const {
    const c10::IValue* value = find({name});
    return value != nullptr && value->isTensor() ? OptionalTensor(value->toTensor()) : std::nullopt;
  }
  double number(Names names) const { return find(names)->toDouble(); }
  int64_t integer(Names names, int64_t otherwise = 0) const {
    const c10::IValue* value = find(names);
    return value == nullptr ? otherwise : value->toInt();
  }
  std::string text(const char* name) const { return find({name})->toStringRef(); }

 private:
  const c10::FunctionSchema& schema_;
  c10::ArrayRef<c10::IValue> values_;
};

using Lengths = std::optional<std::vector<int64_t>>;

// Lengths on the device are waited for; a call without values needs none.
Lengths lengthsOf(const Named& arguments, const char* name) {
  const c10::IValue* value = arguments.find({name});
  if (value == nullptr || value->isNone()) {
    return std::nullopt;
  }
  if (!value->isTensor()) {
    return value->toDimVector().empty() ? Lengths() : Lengths(value->toIntVector());
  }
  if (!value->toTensor().defined() || onMeta(arguments.tensor("query"))) {
    return std::nullopt;
  }
  TORCH_CHECK(!value->toTensor().is_meta(), kOperator,
              "_v3: sequence lengths are needed, and tensors without values have none");
  const Tensor host = value->toTensor().cpu().to(at::kLong).contiguous();
  const auto* first = host.const_data_ptr<int64_t>();
  return std::vector<int64_t>(first, first + host.numel());
}

OptionalIntArrayRef asReference(const Lengths& lengths) {
  return lengths ? OptionalIntArrayRef(*lengths) : OptionalIntArrayRef();
}

constexpr int64_t kBiasBeforeScale = 1;

// What the operator's versions, forward and backward, share.
struct Call {
  explicit Call(const Named& arguments)
      : query(arguments.tensor("query")),
        key(arguments.tensor("key")),
        value(arguments.tensor("value")),
        heads(arguments.integer({"head_num"})),
        layout(arguments.text("input_layout")),
        bias(arguments.optionalTensor("pse")),
        mask(arguments.optionalTensor("atten_mask")),
        query_rope(arguments.optionalTensor("query_rope")),
        key_rope(arguments.optionalTensor("key_rope")),
        sink(arguments.optionalTensor("sink")),
        scale(arguments.number({"scale", "scale_value"})),
        keep_probability(arguments.number({"keep_prob"})),
        pre_tokens(arguments.integer({"pre_tockens", "pre_tokens"})),
        next_tokens(arguments.integer({"next_tockens", "next_tokens"})),
        inner_precise(arguments.integer({"inner_precise"})),
        prefix(lengthsOf(arguments, "prefix")),
        query_ends(lengthsOf(arguments, "actual_seq_qlen")),
        key_ends(lengthsOf(arguments, "actual_seq_kvlen")),
        sparse_mode(arguments.integer({"sparse_mode"})),
        bias_type(arguments.integer({"pse_type"}, kBiasBeforeScale)) {
    checkMissing(kOperator, "padding_mask", arguments.optionalTensor("padding_mask"));
    checkMissing(kOperator, "q_start_idx", lengthsOf(arguments, "q_start_idx"));
    checkMissing(kOperator, "kv_start_idx", lengthsOf(arguments, "kv_start_idx"));
    const std::string statistics = arguments.text("softmax_layout");
    TORCH_CHECK_VALUE(statistics.empty() || (statistics == "TND" && packed()), kOperator,
                      ": expected softmax_layout to be '', or 'TND' with that layout, but got '",
                      statistics, "'");
    check();
  }

  bool packed() const { return layout == "TND"; }
  bool rotary() const { return given(query_rope); }

  Tensor query, key, value;
  int64_t heads;
  std::string layout;
  OptionalTensor bias, mask, query_rope, key_rope, sink;
  double scale, keep_probability;
  int64_t pre_tokens, next_tokens, inner_precise;
  Lengths prefix, query_ends, key_ends;
  int64_t sparse_mode, bias_type;

 private:
  void check() const;
};

void Call::check() const {
  TORCH_CHECK_VALUE(keep_probability > 0 && keep_probability <= 1, kOperator,
                    ": expected keep_prob in (0, 1], but got ", keep_probability);
  checkOneOf(kOperator, "sparse_mode", sparse_mode, {0, 1, 2, 3, 4, 5, 6});
  checkOneOf(kOperator, "pse_type", bias_type, {0, 1});
  TORCH_CHECK(
      key.scalar_type() == query.scalar_type() && value.scalar_type() == query.scalar_type(),
      kOperator, ": expected query, key and value of one dtype, but got ", query.scalar_type(),
      ", ", key.scalar_type(), " and ", value.scalar_type());
  TORCH_CHECK(!given(mask) || mask->scalar_type() == at::kBool || mask->scalar_type() == at::kByte,
              kOperator, ": expected atten_mask of dtype bool or uint8, but got ",
              mask->scalar_type());
  TORCH_CHECK(given(query_rope) == given(key_rope), kOperator,
              ": expected query_rope and key_rope together");
  TORCH_CHECK_NOT_IMPLEMENTED(!rotary() || packed(), kOperator,
                              ": query_rope and key_rope need the layout TND, but got ", layout);
  TORCH_CHECK(!given(sink) ||
                  (sink->dim() == 1 && sink->size(0) == heads && sink->scalar_type() == at::kFloat),
              kOperator, ": expected a sink of (head_num) in float32, but got ",
              given(sink) ? sink->sizes() : at::IntArrayRef(), " in ",
              given(sink) ? sink->scalar_type() : at::kFloat);
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
    const RandomState state =
        drawRandom(generatorFor(std::nullopt, call.query.device()), dropout.count);
    dropout.seed = state.seed;
    dropout.offset = state.offset;
  }
  dropout.bits = drawBits(call.query, {dropout.count}, 1 - call.keep_probability, dropout.seed,
                          dropout.offset);
  return dropout;
}

// Arguments that are never given.
const OptionalTensor kNoTensor;
const OptionalIntArrayRef kNoStart;
// The statistics' layout is that of the input.
constexpr std::string_view kLayoutOfInput = "same_as_input";

void launchForward(const Call& c, const OptionalTensor& bits, const Tensor& maximum,
                   const Tensor& sum, const Tensor& softmax, const Tensor& out) {
  const OptionalIntArrayRef prefix = asReference(c.prefix);
  const OptionalIntArrayRef queries = asReference(c.query_ends), keys = asReference(c.key_ends);
  const std::string_view layout = c.layout;
  if (c.packed() && given(c.sink)) {
    launch(aclnnFlashAttentionVarLenScoreV5, c.query, c.query_rope, c.key, c.key_rope, c.value,
           c.bias, bits, kNoTensor, c.mask, c.sink, prefix, queries, keys, kNoStart, kNoStart,
           c.scale, c.keep_probability, c.pre_tokens, c.next_tokens, c.heads, layout,
           c.inner_precise, c.sparse_mode, c.bias_type, kLayoutOfInput, maximum, sum, softmax, out);
  } else if (c.rotary()) {
    launch(aclnnFlashAttentionVarLenScoreV3, c.query, c.query_rope, c.key, c.key_rope, c.value,
           c.bias, bits, kNoTensor, c.mask, prefix, queries, keys, kNoStart, kNoStart, c.scale,
           c.keep_probability, c.pre_tokens, c.next_tokens, c.heads, layout, c.inner_precise,
           c.sparse_mode, c.bias_type, maximum, sum, softmax, out);
  } else if (c.packed()) {
    launch(aclnnFlashAttentionVarLenScoreV2, c.query, c.key, c.value, c.bias, bits, kNoTensor,
           c.mask, prefix, queries, keys, kNoStart, kNoStart, c.scale, c.keep_probability,
           c.pre_tokens, c.next_tokens, c.heads, layout, c.inner_precise, c.sparse_mode,
           c.bias_type, maximum, sum, softmax, out);
  } else if (given(c.sink)) {
    launch(aclnnFlashAttentionScoreV3, c.query, c.key, c.value, c.bias, bits, kNoTensor, c.mask,
           c.sink, prefix, kNoStart, kNoStart, c.scale, c.keep_probability, c.pre_tokens,
           c.next_tokens, c.heads, layout, c.inner_precise, c.sparse_mode, c.bias_type, maximum,
           sum, softmax, out);
  } else {
    launch(aclnnFlashAttentionScoreV2, c.query, c.key, c.value, c.bias, bits, kNoTensor, c.mask,
           prefix, kNoStart, kNoStart, c.scale, c.keep_probability, c.pre_tokens, c.next_tokens,
           c.heads, layout, c.inner_precise, c.sparse_mode, c.bias_type, maximum, sum, softmax,
           out);
  }
}

struct Attention {
  Tensor out, maximum, sum, softmax;
};

Attention attend(const Call& call, const OptionalTensor& bits) {
  Tensor out = shapes::trainedAttention(call.query, call.value, call.heads, call.layout, call.key);
  Tensor maximum = shapes::attentionStatistics(call.query, call.heads, call.layout);
  Tensor sum = shapes::like(maximum);
  Tensor softmax = shapes::sized({0}, call.query);  // CANN's reserved output
  if (!onMeta(call.query)) {
    launchForward(call, bits, maximum, sum, softmax, out);
  }
  return {std::move(out), std::move(maximum), std::move(sum), std::move(softmax)};
}

// What the forward pass gave, of which the backward pass needs all but the last.
struct Saved {
  OptionalTensor maximum, sum, out, softmax;
};

struct Gradients {
  Tensor query, key, value, bias, query_rope, key_rope, sink;
};

void launchBackward(const Call& c, const Tensor& dy, const Saved& saved, const OptionalTensor& bits,
                    const Gradients& into) {
  const OptionalIntArrayRef prefix = asReference(c.prefix);
  const OptionalIntArrayRef queries = asReference(c.query_ends), keys = asReference(c.key_ends);
  const std::string_view layout = c.layout;
  if (c.packed() && given(c.sink)) {
    launch(aclnnFlashAttentionUnpaddingScoreGradV5, c.query, c.query_rope, c.key, c.key_rope,
           c.value, dy, c.bias, bits, kNoTensor, c.mask, saved.maximum, saved.sum, saved.softmax,
           saved.out, c.sink, prefix, queries, keys, kNoStart, kNoStart, c.scale,
           c.keep_probability, c.pre_tokens, c.next_tokens, c.heads, layout, c.inner_precise,
           c.sparse_mode, c.bias_type, kLayoutOfInput, into.query, into.query_rope, into.key,
           into.key_rope, into.value, into.bias, into.sink);
  } else if (c.rotary()) {
    launch(aclnnFlashAttentionUnpaddingScoreGradV3, c.query, c.query_rope, c.key, c.key_rope,
           c.value, dy, c.bias, bits, kNoTensor, c.mask, saved.maximum, saved.sum, saved.softmax,
           saved.out, prefix, queries, keys, kNoStart, kNoStart, c.scale, c.keep_probability,
           c.pre_tokens, c.next_tokens, c.heads, layout, c.inner_precise, c.sparse_mode,
           c.bias_type, into.query, into.query_rope, into.key, into.key_rope, into.value,
           into.bias);
  } else if (c.packed()) {
    launch(aclnnFlashAttentionUnpaddingScoreGradV2, c.query, c.key, c.value, dy, c.bias, bits,
           kNoTensor, c.mask, saved.maximum, saved.sum, saved.softmax, saved.out, prefix, queries,
           keys, kNoStart, kNoStart, c.scale, c.keep_probability, c.pre_tokens, c.next_tokens,
           c.heads, layout, c.inner_precise, c.sparse_mode, c.bias_type, into.query, into.key,
           into.value, into.bias);
  } else if (given(c.sink)) {
    launch(aclnnFlashAttentionScoreGradV3, c.query, c.key, c.value, dy, c.bias, bits, kNoTensor,
           c.mask, saved.maximum, saved.sum, saved.softmax, saved.out, c.sink, prefix, kNoStart,
           kNoStart, c.scale, c.keep_probability, c.pre_tokens, c.next_tokens, c.heads, layout,
           c.inner_precise, c.sparse_mode, c.bias_type, into.query, into.key, into.value, into.bias,
           into.sink);
  } else {
    launch(aclnnFlashAttentionScoreGradV2, c.query, c.key, c.value, dy, c.bias, bits, kNoTensor,
           c.mask, saved.maximum, saved.sum, saved.softmax, saved.out, prefix, kNoStart, kNoStart,
           c.scale, c.keep_probability, c.pre_tokens, c.next_tokens, c.heads, layout,
           c.inner_precise, c.sparse_mode, c.bias_type, into.query, into.key, into.value,
           into.bias);
  }
}

Gradients attendBackward(const Call& call, const Tensor& dy, const Saved& saved,
                         const OptionalTensor& bits) {
  TORCH_CHECK(given(saved.maximum) && given(saved.sum) && given(saved.out), kOperator,
              "_grad: expected softmax_max, softmax_sum and attention_in of the forward pass");
  const auto likeOr = [&](const OptionalTensor& tensor) {
    return given(tensor) ? shapes::like(*tensor) : shapes::sized({0}, call.query);
  };
  Gradients gradients{shapes::like(call.query), shapes::like(call.key),  shapes::like(call.value),
                      likeOr(call.bias),        likeOr(call.query_rope), likeOr(call.key_rope),
                      likeOr(call.sink)};
  if (!onMeta(call.query)) {
    launchBackward(call, dy, saved, bits, gradients);
  }
  return gradients;
}

// --- versions 1 and 2: the seed and the offset are numbers ------------------------------------

void forward(const Call& call, const Named& arguments, torch::jit::Stack& results) {
  const Dropout dropout = makeDropout(call, arguments.optionalTensor("dropout_mask"),
                                      arguments.integer({"seed"}), arguments.integer({"offset"}));
  Attention result = attend(call, dropout.bits);
  torch::jit::push(results, std::move(result.out), std::move(result.maximum), std::move(result.sum),
                   std::move(result.softmax), dropout.seed, dropout.offset, dropout.count);
}

OptionalTensor bitsAgain(const Call& call, const Named& arguments) {
  if (call.keep_probability >= 1) {
    return std::nullopt;
  }
  return drawBits(call.query, {arguments.integer({"numels"})}, 1 - call.keep_probability,
                  arguments.integer({"seed"}), arguments.integer({"offset"}));
}

// --- version 3: they are tensors, as the sequences' lengths are -------------------------------

OptionalTensor bitsOf(const Call& call, const OptionalTensor& seed, const OptionalTensor& offset) {
  if (call.keep_probability >= 1) {
    return std::nullopt;
  }
  TORCH_CHECK(given(seed) && given(offset), kOperator,
              "_grad_v3: dropout needs the forward pass's seed and offset");
  if (onMeta(call.query)) {
    return std::nullopt;
  }
  const int64_t count = weights(call);
  Tensor bits = roomForBits(call.query, count);
  launch(aclnnDropoutGenMaskV2Tensor, at::IntArrayRef(count), 1 - call.keep_probability, *seed,
         *offset, int64_t{0}, call.query.scalar_type(), bits);
  return bits;
}

void forwardV3(const Call& call, torch::jit::Stack& results) {
  Tensor seed = shapes::sized({1}, call.query, at::kLong);
  Tensor offset = shapes::sized({1}, call.query, at::kLong);
  if (!onMeta(call.query)) {
    const RandomState state =
        call.keep_probability < 1
            ? drawRandom(generatorFor(std::nullopt, call.query.device()), weights(call))
            : RandomState{};
    seed.fill_(state.seed);
    offset.fill_(state.offset);
  }
  Attention result = attend(call, bitsOf(call, seed, offset));
  torch::jit::push(results, std::move(result.out), std::move(result.maximum), std::move(result.sum),
                   std::move(result.softmax), std::move(seed), std::move(offset));
}

// --- the operators ----------------------------------------------------------------------------

constexpr size_t kResultsWithRope = 7;

bool hasTensorSeed(const c10::FunctionSchema& schema) {
  return schema.argumentIndexWithName("numels") == std::nullopt &&
         schema.argumentIndexWithName("dropout_mask") == std::nullopt;
}

void fusionAttention(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const auto values = torch::jit::pop(*stack, schema.arguments().size());
  const Named arguments(schema, values);
  const Call call(arguments);
  if (hasTensorSeed(schema)) {
    forwardV3(call, *stack);
  } else {
    forward(call, arguments, *stack);
  }
}

void fusionAttentionGrad(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const auto values = torch::jit::pop(*stack, schema.arguments().size());
  const Named arguments(schema, values);
  const Call call(arguments);
  const OptionalTensor bits = hasTensorSeed(schema) ? bitsOf(call, arguments.optionalTensor("seed"),
                                                             arguments.optionalTensor("offset"))
                                                    : bitsAgain(call, arguments);
  Gradients into = attendBackward(
      call, arguments.tensor("dy"),
      {arguments.optionalTensor("softmax_max"), arguments.optionalTensor("softmax_sum"),
       arguments.optionalTensor("attention_in"), arguments.optionalTensor("softmax_in")},
      bits);
  torch::jit::push(*stack, std::move(into.query), std::move(into.key), std::move(into.value),
                   std::move(into.bias));
  if (schema.returns().size() == kResultsWithRope) {
    torch::jit::push(*stack, std::move(into.query_rope), std::move(into.key_rope));
  }
  torch::jit::push(*stack, std::move(into.sink));
}

Tensor genMask(const Tensor& self, at::IntArrayRef size, double p, int64_t seed, int64_t offset,
               std::optional<bool> /*parallel*/, std::optional<bool> /*sync*/) {
  return drawBits(self, size, p, seed, offset);
}

struct Version {
  const char* forward;
  const char* backward;
};
constexpr Version kVersions[] = {
    {"npu_fusion_attention", "npu_fusion_attention_grad"},
    {"npu_fusion_attention_v2", "npu_fusion_attention_grad_v2"},
    {"npu_fusion_attention_v3", "npu_fusion_attention_grad_v3"},
};

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

namespace {

void registerKernels(torch::Library& m) {
  for (const auto& [forward, backward] : kVersions) {
    m.impl(forward, torch::CppFunction::makeFromBoxedFunction<&fusionAttention>());
    m.impl(backward, torch::CppFunction::makeFromBoxedFunction<&fusionAttentionGrad>());
  }
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {
  registerKernels(m);
  m.impl("_npu_dropout_gen_mask.Tensor", TORCH_FN(genMask));
}

TORCH_LIBRARY_IMPL(npu, Meta, m) { registerKernels(m); }

// --- the derivatives --------------------------------------------------------------------------

const c10::FunctionSchema& schemaOf(const char* name) {
  return c10::Dispatcher::singleton()
      .findSchemaOrThrow((std::string("npu::") + name).c_str(), "")
      .schema();
}

// Where an argument of the backward operator comes from.
c10::IValue backwardArgument(const Derivation& call, const c10::FunctionSchema& forward,
                             const std::string& name) {
  static const std::vector<std::pair<std::string, size_t>> kResults = {
      {"attention_in", 0}, {"softmax_max", 1}, {"softmax_sum", 2}, {"softmax_in", 3},
      {"seed", 4},         {"offset", 5},      {"numels", 6}};
  if (name == "dy") {
    return call.grad(0);
  }
  for (const auto& [argument, position] : kResults) {
    if (argument == name) return call.result(position);
  }
  const auto index = forward.argumentIndexWithName(name == "scale_value" ? "scale" : name);
  TORCH_INTERNAL_ASSERT(index.has_value(), forward.name(), " has no ", name);
  return call.input(static_cast<size_t>(*index));
}

template <size_t version>
torch::jit::Stack backwardArguments(const Derivation& call) {
  const c10::FunctionSchema& forward = schemaOf(kVersions[version].forward);
  torch::jit::Stack stack;
  for (const c10::Argument& argument : schemaOf(kVersions[version].backward).arguments()) {
    stack.push_back(backwardArgument(call, forward, argument.name()));
  }
  return stack;
}

template <size_t version>
const Derivative* derivative() {
  static const std::string name = std::string("npu::") + kVersions[version].forward;
  static const Derivative result = [] {
    const c10::FunctionSchema& schema = schemaOf(kVersions[version].forward);
    Derivative made{.name = name.c_str(),
                    .backward = {std::string("npu::") + kVersions[version].backward, ""},
                    .targets = {},
                    .inputs = {},
                    .described = {},
                    .outputs = {},
                    .gradients = {0},
                    .arguments = &backwardArguments<version>};
    // In the order of the backward operator's results.
    for (const char* target : {"query", "key", "value", "pse", "query_rope", "key_rope", "sink"}) {
      if (const auto index = schema.argumentIndexWithName(target)) {
        made.targets.push_back(static_cast<size_t>(*index));
      }
    }
    for (size_t i = 0; i < schema.arguments().size(); ++i) made.inputs.push_back(i);
    for (size_t i = 0; i < schema.returns().size(); ++i) made.outputs.push_back(i);
    return made;
  }();
  return &result;
}

TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {
  m.impl(kVersions[0].forward, differentiable({derivative<0>()}));
  m.impl(kVersions[1].forward, differentiable({derivative<1>()}));
  m.impl(kVersions[2].forward, differentiable({derivative<2>()}));
  for (const auto& [forward, backward] : kVersions) {
    m.impl(backward, torch::autograd::autogradNotImplementedFallback());
  }
}

}  // namespace
}  // namespace torch_npu
