// Operators that ATen counts as composite, although their code looks a kernel up in a table per
// device type, which has no entry for a backend from outside. Here they call the operator whose
// npu kernel, or host fallback, does the work.
#include <ATen/ops/conj_physical.h>
#include <torch/library.h>

namespace torch_npu {
namespace {

at::Tensor& conjPhysicalInplace(at::Tensor& self) {
  return self.is_complex() ? at::conj_physical_out(self, self) : self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("conj_physical_", TORCH_FN(conjPhysicalInplace));
}

}  // namespace torch_npu
