// Operators that ATen counts as composite, although their code looks a kernel up in a table per
// device type, which has no entry for a backend from outside. Here they call the operator whose
// npu kernel, or host fallback, does the work. And out forms that may not overlap their inputs.
#include <ATen/MemoryOverlap.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/masked_select.h>
#include <torch/library.h>

#include "torch_npu/csrc/aten/arguments.h"
#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/aten/outputs.h"
#include "torch_npu/csrc/aten/resized_output.h"

namespace torch_npu {
namespace {

at::Tensor& conjPhysicalInplace(at::Tensor& self) {
  return self.is_complex() ? at::conj_physical_out(self, self) : self;
}

void checkNoOverlap(const at::Tensor& out, at::TensorList inputs) {
  at::assert_no_internal_overlap(out);
  for (const at::Tensor& input : inputs) {
    at::assert_no_overlap(out, input);
  }
}

at::Tensor& indexSelectOut(const at::Tensor& self, int64_t dim, const at::Tensor& index,
                           at::Tensor& out) {
  static AclnnFunction aclnn_index_select("aclnnIndexSelect");
  checkNoOverlap(out, {self, index});
  resizeLike(out, shapes::indexSelected(self, dim, index));
  launch(aclnn_index_select, self, dim, index, out);
  return out;
}

at::Tensor& maskedSelectOut(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  checkNoOverlap(out, {self, mask});
  storeResult(out, at::masked_select(self, mask));
  return out;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("conj_physical_", TORCH_FN(conjPhysicalInplace));
  m.impl("index_select.out", TORCH_FN(indexSelectOut));
  m.impl("masked_select.out", TORCH_FN(maskedSelectOut));
}

}  // namespace torch_npu
