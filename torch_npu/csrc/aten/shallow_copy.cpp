// Which tensors may take over each other's content, keeping their identity: `parameter.data = x`,
// and with it `module.npu()`. PyTorch's own answer knows the dense backends by name, and asks a
// PrivateUse1 backend through this operator. Sparse tensors have a check of their own that asks
// nobody, so for them PyTorch's answer stands: the same device only.
#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>
#include <torch/library.h>

namespace torch_npu {
namespace {

// A strided tensor of ours differs from a CPU one in nothing but where its memory lies.
bool isDense(const at::Tensor& tensor) {
  constexpr c10::DispatchKeySet kDense(c10::DispatchKey::Dense);
  constexpr c10::DispatchKeySet kBackends(
      {c10::BackendComponent::CPUBit, c10::BackendComponent::PrivateUse1Bit});
  return tensor.key_set().has_any(kDense) && tensor.key_set().has_any(kBackends);
}

bool hasCompatibleShallowCopyType(const at::Tensor& self, const at::Tensor& from) {
  return self.key_set() == from.key_set() || (isDense(self) && isDense(from));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(hasCompatibleShallowCopyType));
}

}  // namespace torch_npu
