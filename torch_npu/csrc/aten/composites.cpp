// Operators that ATen counts as composite, although their code looks a kernel up in a table per
// device type, which has no entry for a backend from outside, or whose meta function does not tell
// the result's size. Here they call the operator whose npu kernel, or host fallback, does the work.
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/isin.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/library.h>

namespace torch_npu {
namespace {

at::Tensor& conjPhysicalInplace(at::Tensor& self) {
  return self.is_complex() ? at::conj_physical_out(self, self) : self;
}

at::Tensor onDeviceOf(const at::Tensor& tensor, const at::Scalar& scalar) {
  return at::scalar_tensor(scalar, tensor.options().dtype(scalar.type()));
}

at::Tensor isinScalar(const at::Scalar& element, const at::Tensor& test_elements,
                      bool assume_unique, bool invert) {
  return at::isin(onDeviceOf(test_elements, element), test_elements, assume_unique, invert);
}

at::Tensor& isinScalarOut(const at::Scalar& element, const at::Tensor& test_elements,
                          bool assume_unique, bool invert, at::Tensor& out) {
  return at::isin_out(out, onDeviceOf(test_elements, element), test_elements, assume_unique,
                      invert);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("conj_physical_", TORCH_FN(conjPhysicalInplace));
  m.impl("isin.Scalar_Tensor", TORCH_FN(isinScalar));
  m.impl("isin.Scalar_Tensor_out", TORCH_FN(isinScalarOut));
}

}  // namespace torch_npu
