// Gathering tokens from caches of keys and values: the caches' format says how a block is laid out.

#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/formats.h"
#include "torch_npu/csrc/aten/launch.h"

namespace torch_npu {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

AclnnFunction aclnnGatherPaKvCache("aclnnGatherPaKvCache");

void gather(const Tensor& key_cache, const Tensor& value_cache, const Tensor& block_tables,
            const Tensor& seq_lens, Tensor& key, Tensor& value, const OptionalTensor& seq_offset,
            bool is_seq_lens_cumsum) {
  if (onMeta(key_cache)) {
    return;
  }
  const bool pieces = storageFormat(key_cache) == ACL_FORMAT_FRACTAL_NZ;
  launch(aclnnGatherPaKvCache, key_cache, value_cache, block_tables, seq_lens, key, value,
         seq_offset, std::optional<std::string_view>(pieces ? "PA_NZ" : "Norm"),
         is_seq_lens_cumsum);
}

std::tuple<Tensor, Tensor> gathered(const Tensor& key_cache, const Tensor& value_cache,
                                    const Tensor& block_tables, const Tensor& seq_lens,
                                    const Tensor& key, const Tensor& value,
                                    const OptionalTensor& seq_offset, bool is_seq_lens_cumsum) {
  Tensor own_key = key.clone(), own_value = value.clone();
  gather(key_cache, value_cache, block_tables, seq_lens, own_key, own_value, seq_offset,
         is_seq_lens_cumsum);
  return {std::move(own_key), std::move(own_value)};
}

void registerKernels(torch::Library& m) {
  m.impl("npu_gather_pa_kv_cache", TORCH_FN(gather));
  m.impl("npu_gather_pa_kv_cache_functional", TORCH_FN(gathered));
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def(
      "npu_gather_pa_kv_cache(Tensor key_cache, Tensor value_cache, Tensor block_tables, Tensor "
      "seq_lens, Tensor(a!) key, Tensor(b!) value, *, Tensor? seq_offset=None, bool "
      "is_seq_lens_cumsum=False) -> ()");
  m.def(
      "npu_gather_pa_kv_cache_functional(Tensor key_cache, Tensor value_cache, Tensor "
      "block_tables, Tensor seq_lens, Tensor key, Tensor value, *, Tensor? seq_offset=None, bool "
      "is_seq_lens_cumsum=False) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) { registerKernels(m); }
TORCH_LIBRARY_IMPL(npu, Meta, m) { registerKernels(m); }

TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {
  for (const char* name : {"npu_gather_pa_kv_cache", "npu_gather_pa_kv_cache_functional"}) {
    m.impl(name, torch::autograd::autogradNotImplementedFallback());
  }
}

}  // namespace torch_npu
