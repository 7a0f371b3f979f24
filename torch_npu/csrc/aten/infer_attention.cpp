// What goes with Ascend's attention for inference: paged attention of the namespace atb, and the
// workspaces that a graph's operators are given.

#include <ATen/core/stack.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "torch_npu/csrc/aten/checked_calls.h"
#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"
#include "torch_npu/csrc/aten/launch.h"

namespace torch_npu {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

AclnnFunction aclnnIncreFlashAttentionV4("aclnnIncreFlashAttentionV4");

std::vector<int64_t> numbersOf(const Tensor& tensor) {
  const Tensor host = tensor.to(at::kCPU, at::kLong).contiguous();
  const int64_t* first = host.const_data_ptr<int64_t>();
  return {first, first + host.numel()};
}

// One new token (tokens, heads, size) for each sequence, over caches (blocks, block size, key
// heads, size).
void pagedAttention(const Tensor& query, const Tensor& key_cache, const Tensor& value_cache,
                    int64_t num_kv_heads, int64_t num_heads, double scale_value,
                    const Tensor& block_table, const Tensor& context_lens, Tensor& out,
                    const OptionalTensor& /*workspace: none is needed*/) {
  constexpr const char* kOp = "_npu_paged_attention";
  TORCH_CHECK(query.dim() == 3 && query.size(1) == num_heads && key_cache.dim() == 4 &&
                  key_cache.size(2) == num_kv_heads,
              kOp, ": expected a query of (tokens, ", num_heads,
              ", size) and caches of (blocks, block size, ", num_kv_heads, ", size), but got ",
              query.sizes(), " and ", key_cache.sizes());
  TORCH_CHECK(out.sizes() == query.sizes() && out.scalar_type() == query.scalar_type(), kOp,
              ": expected out like the query, but got ", out.sizes());
  TORCH_CHECK(context_lens.numel() == query.size(0), kOp, ": expected a length for each of ",
              query.size(0), " tokens, but got ", context_lens.numel());
  const OptionalTensor none;
  // (tokens, 1, heads, size): a batch of single queries.
  Tensor into = out.unsqueeze(1);
  launch(aclnnIncreFlashAttentionV4, query.unsqueeze(1), at::TensorList(key_cache),
         at::TensorList(value_cache), none, none, numbersOf(context_lens), none, none, none, none,
         none, none, none, OptionalTensor(block_table), none, num_heads, scale_value,
         std::string_view("BSND"), num_kv_heads, key_cache.size(1), int64_t{1}, into);
}

// Kernels here take what they need from the host, so a workspace is an empty tensor.
void emptyWorkspace(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/,
                    torch::jit::Stack* stack) {
  const size_t count = op.schema().arguments().size();
  checkArguments(op, torch::jit::last(*stack, count));
  const Tensor query = torch::jit::peek(*stack, 0, count).toTensor();
  torch::jit::drop(*stack, count);
  stack->emplace_back(at::empty({0}, query.options().dtype(at::kByte)));
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def(
      "_npu_fused_infer_attention_score_get_max_workspace(Tensor query, Tensor key, Tensor "
      "value, *, Tensor? pse_shift=None, Tensor? atten_mask=None, SymInt[]? "
      "actual_seq_lengths=None, SymInt[]? actual_seq_lengths_kv=None, Tensor? "
      "dequant_scale1=None, Tensor? quant_scale1=None, Tensor? dequant_scale2=None, Tensor? "
      "quant_scale2=None, Tensor? quant_offset2=None, Tensor? antiquant_scale=None, Tensor? "
      "antiquant_offset=None, Tensor? key_antiquant_scale=None, Tensor? "
      "key_antiquant_offset=None, Tensor? value_antiquant_scale=None, Tensor? "
      "value_antiquant_offset=None, Tensor? block_table=None, Tensor? "
      "query_padding_size=None, Tensor? kv_padding_size=None, Tensor? key_shared_prefix=None,"
      " Tensor? value_shared_prefix=None, SymInt[]? actual_shared_prefix_len=None, Tensor? "
      "query_rope=None, Tensor? key_rope=None, Tensor? key_rope_antiquant_scale=None, int "
      "num_heads=1, float scale=1.0, int pre_tokens=2147483647, int next_tokens=2147483647, "
      "str input_layout=\"BSH\", int num_key_value_heads=0, int sparse_mode=0, int "
      "inner_precise=0, int block_size=0, int antiquant_mode=0, int key_antiquant_mode=0, int"
      " value_antiquant_mode=0, bool softmax_lse_flag=False) -> Tensor",
      torch::CppFunction::makeFromBoxedFunction<&emptyWorkspace>());
  m.def(
      "_npu_fused_infer_attention_score_v2_get_max_workspace(Tensor query, Tensor key, Tensor"
      " value, *, Tensor? query_rope=None, Tensor? key_rope=None, Tensor? pse_shift=None, "
      "Tensor? atten_mask=None, SymInt[]? actual_seq_qlen=None, SymInt[]? "
      "actual_seq_kvlen=None, Tensor? block_table=None, Tensor? dequant_scale_query=None, "
      "Tensor? dequant_scale_key=None, Tensor? dequant_offset_key=None, Tensor? "
      "dequant_scale_value=None, Tensor? dequant_offset_value=None, Tensor? "
      "dequant_scale_key_rope=None, Tensor? quant_scale_out=None, Tensor? "
      "quant_offset_out=None, Tensor? quant_scale_p=None, Tensor? learnable_sink=None, int "
      "num_query_heads=1, int num_key_value_heads=0, float softmax_scale=1.0, int "
      "pre_tokens=2147483647, int next_tokens=2147483647, str input_layout=\"BSH\", int "
      "sparse_mode=0, int block_size=0, int query_quant_mode=0, int key_quant_mode=0, int "
      "value_quant_mode=0, int inner_precise=0, bool return_softmax_lse=False, int? "
      "query_dtype=None, int? key_dtype=None, int? value_dtype=None, int? "
      "query_rope_dtype=None, int? key_rope_dtype=None, int? key_shared_prefix_dtype=None, "
      "int? value_shared_prefix_dtype=None, int? dequant_scale_query_dtype=None, int? "
      "dequant_scale_key_dtype=None, int? dequant_scale_value_dtype=None, int? "
      "dequant_scale_key_rope_dtype=None, int? out_dtype=None) -> Tensor",
      torch::CppFunction::makeFromBoxedFunction<&emptyWorkspace>());
}

TORCH_LIBRARY_FRAGMENT(atb, m) {
  m.def(
      "_npu_paged_attention(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, "
      "int num_heads, float scale_value, Tensor block_table, Tensor context_lens, Tensor(a!) out, "
      "*, Tensor? workspace=None) -> ()");
  m.def(
      "_npu_paged_attention_get_workspace(Tensor query, Tensor key_cache, Tensor value_cache, "
      "int num_kv_heads, int num_heads, float scale_value, Tensor block_table, "
      "Tensor context_lens, Tensor(a!) out) -> Tensor",
      torch::CppFunction::makeFromBoxedFunction<&emptyWorkspace>());
}

TORCH_LIBRARY_IMPL(atb, PrivateUse1, m) {
  m.impl("_npu_paged_attention", TORCH_FN(pagedAttention));
}

TORCH_LIBRARY_IMPL(atb, AutogradPrivateUse1, m) {
  m.impl("_npu_paged_attention", torch::autograd::autogradNotImplementedFallback());
}

}  // namespace torch_npu
