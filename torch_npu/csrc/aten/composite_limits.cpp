// Operators that PyTorch composes of others, but for which a card has a function of its own: in
// strict mode that function's limits hold too. Only its first phase is called, with what PyTorch's
// composition returned, so that autograd, shapes and PyTorch's own errors stay the composition's.

#include <ATen/ops/inverse_native.h>
#include <ATen/ops/isclose_native.h>
#include <ATen/ops/kl_div_native.h>
#include <ATen/ops/l1_loss_native.h>
#include <ATen/ops/linalg_cholesky_native.h>
#include <ATen/ops/pdist_native.h>
#include <ATen/ops/repeat_interleave_native.h>
#include <torch/library.h>

#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/aten/launch.h"

namespace torch_npu {

namespace {

using at::Tensor;

AclnnFunction aclnnInverse("aclnnInverse");
AclnnFunction aclnnIsClose("aclnnIsClose");
AclnnFunction aclnnKlDiv("aclnnKlDiv");
AclnnFunction aclnnL1Loss("aclnnL1Loss");
AclnnFunction aclnnLinalgCholesky("aclnnLinalgCholesky");
AclnnFunction aclnnPdist("aclnnPdist");
AclnnFunction aclnnRepeatInterleave("aclnnRepeatInterleave");
AclnnFunction aclnnRepeatInterleaveInt("aclnnRepeatInterleaveInt");
AclnnFunction aclnnRepeatInterleaveIntWithDim("aclnnRepeatInterleaveIntWithDim");
AclnnFunction aclnnRepeatInterleaveWithDim("aclnnRepeatInterleaveWithDim");

// softcann's; a card checks by itself what its functions are called with.
bool strictMode() {
  static const auto strict = reinterpret_cast<bool (*)()>(acl::opApiSymbol("softcannStrictMode"));
  return strict != nullptr && strict();
}

// Fake tensors and those of function transforms have no memory that a descriptor could name.
bool hasMemory(const Tensor& tensor) {
  return tensor.device().is_privateuseone() && tensor.has_storage() &&
         !tensor.key_set().has(c10::DispatchKey::Python);
}

// Throws what the function's first phase says against the arguments.
template <class... Args>
void checkPhaseOne(AclnnFunction& function, const Args&... args) {
  static const auto destroy = reinterpret_cast<decltype(&::aclDestroyAclOpExecutor)>(
      acl::opApiSymbol("aclDestroyAclOpExecutor"));
  LaunchDevice device;
  (detail::noteDevice(device, args), ...);
  using Phase = aclnnStatus (*)(typename Converted<Args>::CType..., uint64_t*, aclOpExecutor**);
  const auto phase = reinterpret_cast<Phase>(function.workspaceSizePhase());
  [&](const Converted<Args>&... converted) {
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    const aclnnStatus status = phase(converted.get()..., &workspace_size, &executor);
    if (status != ACLNN_SUCCESS) {
      detail::throwPhaseOne(function, status);
    }
    destroy(executor);
  }(Converted<Args>(asArgument(args), device)...);
}

bool isChecked(const Tensor& first, const Tensor& second) {
  return strictMode() && hasMemory(first) && hasMemory(second);
}

Tensor repeatEach(const Tensor& self, c10::SymInt repeats, std::optional<int64_t> dim,
                  std::optional<c10::SymInt> output_size) {
  const std::optional<int64_t> count = repeats.maybe_as_int();
  Tensor out =
      at::native::repeat_interleave_symint(self, std::move(repeats), dim, std::move(output_size));
  if (!count || !isChecked(self, out)) return out;
  if (dim) {
    checkPhaseOne(aclnnRepeatInterleaveIntWithDim, self, *count, *dim, out.size(*dim), out);
  } else {
    checkPhaseOne(aclnnRepeatInterleaveInt, self, *count, out.numel(), out);
  }
  return out;
}

Tensor repeatByTensor(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                      std::optional<c10::SymInt> output_size) {
  Tensor out = at::native::repeat_interleave_symint(self, repeats, dim, std::move(output_size));
  if (!isChecked(self, out) || !hasMemory(repeats)) return out;
  if (dim) {
    checkPhaseOne(aclnnRepeatInterleaveWithDim, self, repeats, *dim, out.size(*dim), out);
  } else {
    checkPhaseOne(aclnnRepeatInterleave, self, repeats, out.numel(), out);
  }
  return out;
}

Tensor inverse(const Tensor& self) {
  Tensor out = at::native::inverse(self);
  if (isChecked(self, out)) checkPhaseOne(aclnnInverse, self, out);
  return out;
}

Tensor cholesky(const Tensor& self, bool upper) {
  Tensor out = at::native::linalg_cholesky(self, upper);
  if (isChecked(self, out)) checkPhaseOne(aclnnLinalgCholesky, self, upper, out);
  return out;
}

Tensor klDiv(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  Tensor out = at::native::kl_div(self, target, reduction, log_target);
  // The mean over the batch is PyTorch's division of the function's sum.
  if (isChecked(self, out) && hasMemory(target)) {
    checkPhaseOne(aclnnKlDiv, self, target, reduction, log_target, out);
  }
  return out;
}

Tensor l1Loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  Tensor out = at::native::l1_loss(self, target, reduction);
  if (isChecked(self, out) && hasMemory(target)) {
    checkPhaseOne(aclnnL1Loss, self, target, reduction, out);
  }
  return out;
}

Tensor isClose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan) {
  Tensor out = at::native::isclose(self, other, rtol, atol, equal_nan);
  if (isChecked(self, out) && hasMemory(other)) {
    checkPhaseOne(aclnnIsClose, self, other, rtol, atol, equal_nan, out);
  }
  return out;
}

Tensor pdist(const Tensor& self, double p) {
  Tensor out = at::native::pdist(self, p);
  if (isChecked(self, out)) checkPhaseOne(aclnnPdist, self, static_cast<float>(p), out);
  return out;
}

void registerAll(torch::Library& m) {
  m.impl("repeat_interleave.self_int", TORCH_FN(repeatEach));
  m.impl("repeat_interleave.self_Tensor", TORCH_FN(repeatByTensor));
  m.impl("inverse", TORCH_FN(inverse));
  m.impl("linalg_cholesky", TORCH_FN(cholesky));
  m.impl("kl_div", TORCH_FN(klDiv));
  m.impl("l1_loss", TORCH_FN(l1Loss));
  m.impl("isclose", TORCH_FN(isClose));
  m.impl("pdist", TORCH_FN(pdist));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { registerAll(m); }
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { registerAll(m); }

}  // namespace torch_npu
