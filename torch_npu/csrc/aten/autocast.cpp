// Autocast on npu: PyTorch's own lists of operators per cast policy, registered for our key.
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace torch_npu {
namespace {

using at::Tensor;

// Its gradient overflows in half precision, and casting the input cannot help what came before.
Tensor bannedBinaryCrossEntropy(const Tensor&, const Tensor&, const std::optional<Tensor>&,
                                int64_t) {
  TORCH_CHECK(false,
              "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to "
              "autocast on npu: a sigmoid in half precision rounds to 0 or 1. Use "
              "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss, "
              "which take the values before the sigmoid and are safe to autocast.");
}

}  // namespace

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

// The macros below name types and functions of these namespaces unqualified.
using namespace at;
using at::autocast::CastPolicy;

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define NPU_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(NPU_LOWER_PRECISION)
#undef NPU_LOWER_PRECISION

#define NPU_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(NPU_FP32)
#undef NPU_FP32

#define NPU_FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
  AT_FORALL_FP32_SET_OPT_DTYPE(NPU_FP32_SET_OPT_DTYPE)
#undef NPU_FP32_SET_OPT_DTYPE

  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)

#define NPU_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_PROMOTE(NPU_PROMOTE)
#undef NPU_PROMOTE

  m.impl("binary_cross_entropy", TORCH_FN(bannedBinaryCrossEntropy));
}

}  // namespace torch_npu
