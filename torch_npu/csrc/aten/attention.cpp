// torch.nn.functional.scaled_dot_product_attention on npu: the choice between the fused kernel
// and plain operators ("math"), and the fused kernel's forward and backward operators.
#include <ATen/Context.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>
#include <ATen/ops/_safe_softmax_native.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/aten/outputs.h"

namespace torch_npu {
namespace {

using at::SDPBackend;
using at::Tensor;

AclnnFunction softcannScaledDotProductAttention("softcannScaledDotProductAttention");
AclnnFunction softcannScaledDotProductAttentionGrad("softcannScaledDotProductAttentionGrad");
AclnnFunction softcannSafeSoftmax("softcannSafeSoftmax");

// --- the choice -----------------------------------------------------------------------------

bool isSupportedType(const Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
}

bool checkTypes(const sdp::sdp_params& params, bool debug) {
  const at::ScalarType type = params.query.scalar_type();
  const bool same = params.key.scalar_type() == type && params.value.scalar_type() == type;
  const bool mask_fits = !params.attn_mask.has_value() ||
                         params.attn_mask->scalar_type() == at::kBool ||
                         params.attn_mask->scalar_type() == type;
  const bool supported = isSupportedType(params.query) && same && mask_fits;
  if (!supported && debug) {
    TORCH_WARN(
        "Fused attention on npu requires query, key, value and a mask that is not boolean "
        "to be of one dtype: float32, float64, float16 or bfloat16.");
  }
  return supported;
}

bool checkSizes(const sdp::sdp_params& params, bool debug) {
  const auto head_size = params.query.sym_size(-1);
  const bool same_head_size =
      params.key.sym_size(-1) == head_size && params.value.sym_size(-1) == head_size;
  const bool same_length = params.key.sym_size(-2) == params.value.sym_size(-2);
  const bool empty = params.query.sym_numel() == 0 || params.key.sym_numel() == 0;
  const bool supported = same_head_size && same_length && !empty;
  if (!supported && debug) {
    TORCH_WARN(
        "Fused attention on npu requires query, key and value of one head size, key and "
        "value of one length, and no empty tensor.");
  }
  return supported;
}

bool checkStrides(const sdp::sdp_params& params, bool debug) {
  const bool supported = params.query.sym_stride(-1) == 1 && params.key.sym_stride(-1) == 1 &&
                         params.value.sym_stride(-1) == 1;
  if (!supported && debug) {
    TORCH_WARN(
        "Fused attention on npu requires the last dimension of query, key and value to be "
        "contiguous.");
  }
  return supported;
}

bool checkAvailable(bool debug) {
  const bool available = softcannScaledDotProductAttention.available() &&
                         softcannScaledDotProductAttentionGrad.available();
  if (!available && debug) {
    TORCH_WARN("The operator library of this CANN has no fused attention.");
  }
  return available;
}

// What the kernel can do. `debug` warns of the first condition that does not hold.
bool canFuse(const sdp::sdp_params& params, bool debug) {
  return sdp::check_nested_tensor(params, debug) && sdp::check_for_dropout(params, debug) &&
         sdp::check_tensor_shapes(params, debug) &&
         sdp::check_batch_size_and_num_heads_dense</*supports_gqa=*/true>(params, debug) &&
         sdp::check_attn_mask_shape(params, debug) && checkTypes(params, debug) &&
         checkSizes(params, debug) && checkStrides(params, debug) && checkAvailable(debug);
}

// The first enabled backend, in the order of torch.nn.attention.sdpa_kernel, that can do it. The
// fused kernel answers to "flash" and to "overrideable", the name it is dispatched under.
int64_t chooseBackend(const Tensor& query, const Tensor& key, const Tensor& value,
                      const std::optional<Tensor>& mask, double dropout_p, bool is_causal,
                      std::optional<double> /*scale*/, bool enable_gqa) {
  const sdp::sdp_params params{query, key, value, mask, dropout_p, is_causal, enable_gqa};
  at::Context& context = at::globalContext();
  const bool flash = context.userEnabledFlashSDP();
  const bool overrideable = context.userEnabledOverrideableSDP();
  const bool fused = (flash || overrideable) && canFuse(params, /*debug=*/false);
  for (const SDPBackend backend : context.sDPPriorityOrder()) {
    if (fused && ((backend == SDPBackend::flash_attention && flash) ||
                  (backend == SDPBackend::overrideable && overrideable))) {
      return static_cast<int64_t>(SDPBackend::overrideable);
    }
    if (backend == SDPBackend::math && context.userEnabledMathSDP()) {
      return static_cast<int64_t>(SDPBackend::math);
    }
  }
  if (flash || overrideable) {
    canFuse(params, /*debug=*/true);
  }
  TORCH_CHECK(false,
              "No available kernel. Of the attention backends, npu has math and one fused "
              "kernel, which flash and overrideable stand for; enable one of these with "
              "torch.nn.attention.sdpa_kernel.");
}

// --- the fused kernel -----------------------------------------------------------------------

double scaleOr(std::optional<double> scale, const Tensor& query) {
  return scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
}

std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>
fusedAttention(const Tensor& query, const Tensor& key, const Tensor& value,
               const std::optional<Tensor>& attn_bias, double dropout_p, bool is_causal,
               bool return_debug_mask, std::optional<double> scale) {
  const sdp::sdp_params params{
      query, key, value, attn_bias, dropout_p, is_causal, /*enable_gqa=*/true};
  TORCH_CHECK(canFuse(params, /*debug=*/true) && !return_debug_mask,
              "fused attention on npu does not support these arguments; use "
              "torch.nn.functional.scaled_dot_product_attention, which chooses a backend that "
              "does");
  TORCH_CHECK(!attn_bias.has_value() || attn_bias->scalar_type() == query.scalar_type(),
              "expected attn_bias of dtype ", query.scalar_type(), ", but got ",
              attn_bias->scalar_type());
  Tensor out = shapes::like(query);
  Tensor logsumexp = shapes::sized({query.size(0), query.size(1), query.size(2)}, query,
                                   query.scalar_type() == at::kDouble ? at::kDouble : at::kFloat);
  launch(softcannScaledDotProductAttention, query, key, value, attn_bias, is_causal,
         scaleOr(scale, query), out, logsumexp);
  // The kernel draws no random numbers; the operator's contract has a seed and an offset.
  const at::TensorOptions host_number = at::dtype(at::kLong);
  return {std::move(out),
          std::move(logsumexp),
          Tensor(),
          Tensor(),
          query.size(2),
          key.size(2),
          at::empty({}, host_number),
          at::empty({}, host_number),
          Tensor()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> fusedAttentionBackward(
    const Tensor& grad_out, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& attn_bias, std::array<bool, 4> grad_input_mask, const Tensor& out,
    const Tensor& logsumexp, const Tensor& /*cum_seq_q*/, const Tensor& /*cum_seq_k*/,
    c10::SymInt /*max_q*/, c10::SymInt /*max_k*/, double dropout_p, bool is_causal,
    const Tensor& /*philox_seed*/, const Tensor& /*philox_offset*/, std::optional<double> scale) {
  if (!grad_out.defined()) {
    return {};
  }
  TORCH_CHECK(dropout_p == 0,
              "fused attention on npu has no dropout; use "
              "torch.nn.attention.sdpa_kernel(SDPBackend.MATH)");
  TORCH_CHECK(!grad_input_mask[3],
              "fused attention on npu gives no gradient for its mask; use "
              "torch.nn.attention.sdpa_kernel(SDPBackend.MATH)");
  TORCH_CHECK(grad_out.sizes() == out.sizes() && out.sizes() == query.sizes(),
              "expected the gradient and the output of attention to have the query's size ",
              query.sizes(), ", but got ", grad_out.sizes(), " and ", out.sizes());
  Tensor grad_query = shapes::likeIf(grad_input_mask[0], query);
  Tensor grad_key = shapes::likeIf(grad_input_mask[1], key);
  Tensor grad_value = shapes::likeIf(grad_input_mask[2], value);
  launch(softcannScaledDotProductAttentionGrad, grad_out, query, key, value, attn_bias, out,
         logsumexp, is_causal, scaleOr(scale, query), grad_query, grad_key, grad_value);
  return {std::move(grad_query), std::move(grad_key), std::move(grad_value), Tensor()};
}

// --- what math uses ---------------------------------------------------------------------------

Tensor safeSoftmax(const Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype) {
  if (!softcannSafeSoftmax.available()) {
    return at::native::_safe_softmax(self, dim, dtype);  // in terms of other operators
  }
  const at::ScalarType type = dtype.value_or(self.scalar_type());
  TORCH_CHECK(at::isFloatingType(type), "expected a floating point dtype, but got ", type);
  Tensor out = shapes::sized(self.sizes(), self, type);
  launch(softcannSafeSoftmax, self, at::maybe_wrap_dim(dim, self.dim()), out);
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_fused_sdp_choice", TORCH_FN(chooseBackend));
  m.impl("_safe_softmax", TORCH_FN(safeSoftmax));
  m.impl("_scaled_dot_product_fused_attention_overrideable", TORCH_FN(fusedAttention));
  m.impl("_scaled_dot_product_fused_attention_overrideable_backward",
         TORCH_FN(fusedAttentionBackward));
}

}  // namespace torch_npu

namespace at::native {

// The composite operator looks its choice up here and not by dispatch.
REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &torch_npu::chooseBackend)

}  // namespace at::native
