// The inference kernels that nn.MultiheadAttention and nn.TransformerEncoderLayer call in one
// piece when no gradient is needed. Under a CANN that has none, the host computes them.
#include <ATen/core/Tensor.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/_native_multi_head_attention.h>
#include <ATen/ops/_transformer_encoder_layer_fwd.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "torch_npu/csrc/aten/arguments.h"
#include "torch_npu/csrc/aten/fallback.h"
#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/aten/outputs.h"

namespace torch_npu {
namespace {

using at::Tensor;

AclnnFunction softcannNativeMultiHeadAttention("softcannNativeMultiHeadAttention");
AclnnFunction softcannTransformerEncoderLayer("softcannTransformerEncoderLayer");

// Checked here so that the caller hears of it, and not the next synchronisation.
void checkProjections(const Tensor& query, int64_t embed_dim, int64_t num_heads,
                      const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
                      const Tensor& proj_bias) {
  TORCH_CHECK(query.dim() == 3 && query.size(2) == embed_dim,
              "expected a 3-D query with last dimension ", embed_dim, ", but got ", query.sizes());
  TORCH_CHECK(num_heads > 0 && embed_dim % num_heads == 0, "embed_dim ", embed_dim,
              " does not divide evenly into ", num_heads, " heads");
  TORCH_CHECK(qkv_weight.dim() == 2 && qkv_weight.size(0) == 3 * embed_dim &&
                  qkv_weight.size(1) == embed_dim,
              "expected qkv_weight of size ", at::IntArrayRef{3 * embed_dim, embed_dim},
              ", but got ", qkv_weight.sizes());
  TORCH_CHECK(qkv_bias.dim() == 1 && qkv_bias.size(0) == 3 * embed_dim,
              "expected qkv_bias of size ", at::IntArrayRef{3 * embed_dim}, ", but got ",
              qkv_bias.sizes());
  TORCH_CHECK(proj_weight.dim() == 2 && proj_weight.size(0) == embed_dim &&
                  proj_weight.size(1) == embed_dim && proj_bias.dim() == 1 &&
                  proj_bias.size(0) == embed_dim,
              "expected an output projection of ", embed_dim, " features, but got ",
              proj_weight.sizes(), " and ", proj_bias.sizes());
}

std::tuple<Tensor, Tensor> nativeMultiHeadAttention(
    const Tensor& query, const Tensor& key, const Tensor& value, int64_t embed_dim,
    int64_t num_head, const Tensor& qkv_weight, const Tensor& qkv_bias, const Tensor& proj_weight,
    const Tensor& proj_bias, const std::optional<Tensor>& mask, bool need_weights,
    bool average_attn_weights, std::optional<int64_t> mask_type) {
  if (!softcannNativeMultiHeadAttention.available()) {
    return at::native::call_fallback_fn<&hostFallback, at::_ops::_native_multi_head_attention>::
        call(query, key, value, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias,
             mask, need_weights, average_attn_weights, mask_type);
  }
  checkProjections(query, embed_dim, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias);
  TORCH_CHECK(key.sizes() == value.sizes() && key.dim() == 3 && key.size(0) == query.size(0) &&
                  key.size(2) == embed_dim,
              "expected a key and a value that fit the query ", query.sizes(), ", but got ",
              key.sizes(), " and ", value.sizes());
  Tensor out = shapes::sized(query.sizes(), query);
  Tensor weights;
  if (need_weights && average_attn_weights) {
    weights = shapes::sized({query.size(0), query.size(1), key.size(1)}, query);
  } else if (need_weights) {
    weights = shapes::sized({query.size(0), num_head, query.size(1), key.size(1)}, query);
  }
  launch(softcannNativeMultiHeadAttention, query, key, value, embed_dim, num_head, qkv_weight,
         qkv_bias, proj_weight, proj_bias, mask, need_weights, average_attn_weights,
         optionalArray(mask_type), out, weights);
  return {std::move(out), std::move(weights)};
}

Tensor transformerEncoderLayer(const Tensor& src, int64_t embed_dim, int64_t num_heads,
                               const Tensor& qkv_weight, const Tensor& qkv_bias,
                               const Tensor& proj_weight, const Tensor& proj_bias, bool use_gelu,
                               bool norm_first, double eps, const Tensor& norm_weight_1,
                               const Tensor& norm_bias_1, const Tensor& norm_weight_2,
                               const Tensor& norm_bias_2, const Tensor& ffn_weight_1,
                               const Tensor& ffn_bias_1, const Tensor& ffn_weight_2,
                               const Tensor& ffn_bias_2, const std::optional<Tensor>& mask,
                               std::optional<int64_t> mask_type) {
  if (!softcannTransformerEncoderLayer.available()) {
    return at::native::call_fallback_fn<&hostFallback, at::_ops::_transformer_encoder_layer_fwd>::
        call(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, use_gelu,
             norm_first, eps, norm_weight_1, norm_bias_1, norm_weight_2, norm_bias_2, ffn_weight_1,
             ffn_bias_1, ffn_weight_2, ffn_bias_2, mask, mask_type);
  }
  checkProjections(src, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias);
  Tensor out = shapes::sized(src.sizes(), src);
  launch(softcannTransformerEncoderLayer, src, embed_dim, num_heads, qkv_weight, qkv_bias,
         proj_weight, proj_bias, use_gelu, norm_first, eps, norm_weight_1, norm_bias_1,
         norm_weight_2, norm_bias_2, ffn_weight_1, ffn_bias_1, ffn_weight_2, ffn_bias_2, mask,
         optionalArray(mask_type), out);
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_native_multi_head_attention", TORCH_FN(nativeMultiHeadAttention));
  m.impl("_transformer_encoder_layer_fwd", TORCH_FN(transformerEncoderLayer));
}

}  // namespace torch_npu
