// Attention over packed sequences and rotary positions of the namespace atb, by functions of CANN
// that do the same.

#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include <limits>
#include <vector>

#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/launch.h"

namespace torch_npu {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

AclnnFunction aclnnPromptFlashAttentionV3("aclnnPromptFlashAttentionV3");
AclnnFunction aclnnRopeWithSinCosCache("aclnnRopeWithSinCosCache");

std::vector<int64_t> cumulative(const Tensor& lengths) {
  const Tensor host = lengths.to(at::kCPU, at::kLong).contiguous();
  const auto* first = host.const_data_ptr<int64_t>();
  std::vector<int64_t> ends(first, first + host.numel());
  for (size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  return ends;
}

// (tokens, heads * size) as (tokens, heads, size).
Tensor byHeads(const char* op, const Tensor& tensor, int64_t heads) {
  TORCH_CHECK(heads > 0 && ((tensor.dim() == 3 && tensor.size(1) == heads) ||
                            (tensor.dim() == 2 && tensor.size(1) % heads == 0)),
              op, ": expected (tokens, ", heads, ", size) or (tokens, ", heads,
              " * size), but got ", tensor.sizes());
  return tensor.dim() == 3 ? tensor : tensor.view({tensor.size(0), heads, -1});
}

// Every sequence attends to itself; the bias, if there is one, is added to the scaled scores.
void attend(const char* op, const Tensor& query, const Tensor& key, const Tensor& value,
            const OptionalTensor& bias, const Tensor& seq_len, double scale, int64_t heads,
            int64_t key_heads, Tensor& out) {
  if (onMeta(query)) {
    return;
  }
  constexpr int64_t kUnlimited = std::numeric_limits<int32_t>::max();
  const OptionalTensor none;
  const std::vector<int64_t> ends = cumulative(seq_len);
  Tensor into = byHeads(op, out, heads);
  launch(aclnnPromptFlashAttentionV3, byHeads(op, query, heads), byHeads(op, key, key_heads),
         byHeads(op, value, key_heads), bias, none, ends, ends, none, none, none, none, none, heads,
         scale, kUnlimited, kUnlimited, std::string_view("TND"), key_heads, int64_t{0}, int64_t{0},
         into);
}

void flashAttention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                    const Tensor& seq_len, double scale_value, int64_t num_heads,
                    int64_t num_kv_heads, Tensor& out) {
  constexpr const char* kOp = "_npu_flash_attention";
  TORCH_CHECK(mask.dim() == 2 || (mask.dim() == 3 && mask.size(0) == 1), kOp,
              ": expected a mask of (length, length) or (1, length, length), but got ",
              mask.sizes());
  TORCH_CHECK(at::isFloatingType(mask.scalar_type()), kOp,
              ": expected a mask that is added to the scores, but got one of ", mask.scalar_type());
  const Tensor bias = mask.dim() == 2 ? mask.unsqueeze(0).unsqueeze(0) : mask.unsqueeze(0);
  attend(kOp, query, key, value, bias, seq_len, scale_value, num_heads, num_kv_heads, out);
}

void flashAttentionUnpad(const Tensor& query, const Tensor& key, const Tensor& value,
                         const Tensor& seq_len, double scale_value, int64_t num_heads,
                         int64_t num_kv_heads, Tensor& out) {
  attend("_npu_flash_attention_unpad", query, key, value, std::nullopt, seq_len, scale_value,
         num_heads, num_kv_heads, out);
}

void rotaryEmbedding(const Tensor& positions, Tensor& query, Tensor& key, int64_t head_size,
                     const Tensor& cos_sin_cache, bool is_neox_style) {
  constexpr const char* kOp = "_npu_rotary_embedding";
  if (onMeta(query)) {
    return;
  }
  const Tensor flat = positions.flatten();
  TORCH_CHECK(
      flat.numel() > 0 && query.numel() % flat.numel() == 0 && key.numel() % flat.numel() == 0, kOp,
      ": expected query and key of ", flat.numel(), " tokens, but got ", query.sizes(), " and ",
      key.sizes());
  const auto rows = [&](const Tensor& x) { return x.reshape({flat.numel(), -1}); };
  const Tensor turned_query = at::empty_like(rows(query)), turned_key = at::empty_like(rows(key));
  launch(aclnnRopeWithSinCosCache, flat, rows(query), rows(key), cos_sin_cache,
         at::IntArrayRef({0, 0, 0}), head_size, is_neox_style, turned_query, turned_key);
  query.copy_(turned_query.view(query.sizes()));
  key.copy_(turned_key.view(key.sizes()));
}

void registerKernels(torch::Library& m) {
  m.impl("_npu_flash_attention", TORCH_FN(flashAttention));
  m.impl("_npu_flash_attention_unpad", TORCH_FN(flashAttentionUnpad));
  m.impl("_npu_rotary_embedding", TORCH_FN(rotaryEmbedding));
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(atb, m) {
  m.def(
      "_npu_flash_attention(Tensor query, Tensor key, Tensor value, Tensor mask, Tensor seq_len, "
      "float scale_value, int num_heads, int num_kv_heads, Tensor(a!) out) -> ()");
  m.def(
      "_npu_flash_attention_unpad(Tensor query, Tensor key, Tensor value, Tensor seq_len, float "
      "scale_value, int num_heads, int num_kv_heads, Tensor(a!) out) -> ()");
  m.def(
      "_npu_rotary_embedding(Tensor positions, Tensor(a!) query, Tensor(b!) key, int head_size, "
      "Tensor cos_sin_cache, bool is_neox_style) -> ()");
}

TORCH_LIBRARY_IMPL(atb, PrivateUse1, m) { registerKernels(m); }
TORCH_LIBRARY_IMPL(atb, Meta, m) { registerKernels(m); }

TORCH_LIBRARY_IMPL(atb, AutogradPrivateUse1, m) {
  for (const char* name :
       {"_npu_flash_attention", "_npu_flash_attention_unpad", "_npu_rotary_embedding"}) {
    m.impl(name, torch::autograd::autogradNotImplementedFallback());
  }
}

}  // namespace torch_npu
