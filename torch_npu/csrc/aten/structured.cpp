#include "torch_npu/csrc/aten/structured.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include "torch_npu/csrc/aten/factories.h"
#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

at::Tensor newOutput(at::IntArrayRef sizes, at::IntArrayRef strides,
                     const at::TensorOptions& options) {
  const at::Device device = options.device();
  if (C10_UNLIKELY(device.is_meta())) {
    return strides.empty() ? at::empty(sizes, options) : at::empty_strided(sizes, strides, options);
  }
  const at::Device target = device.is_privateuseone()
                                ? resolveDevice(device)
                                : at::Device(at::kPrivateUse1, currentDevice());
  const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
  if (strides.empty() && !sizes.empty()) {
    return emptyTensor(sizes, type, target, options.memory_format_opt());
  }
  return emptyStrided(sizes, strides, type, target);
}

void checkWritable(const at::Tensor& out) {
  TORCH_CHECK(out.device().is_privateuseone() || out.is_meta(),
              "Expected all tensors to be on the same device, but found at least two devices, npu "
              "and ",
              out.device(), "!");
  TORCH_CHECK(!out.is_conj() && !out.is_neg(),
              "npu operators cannot write to a lazily conjugated or negated tensor; call "
              "resolve_conj() or resolve_neg() on it first");
}

void checkNoPartialOverlap(const at::Tensor& out, const at::Tensor& input) {
  if (input.has_storage() && out.has_storage()) at::assert_no_partial_overlap(out, input);
}

void checkInplace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options) {
  TORCH_CHECK(options.dtype() == self.dtype(), "Bad in-place call: input tensor dtype ",
              self.dtype(), " and output tensor dtype ", options.dtype(), " should match");
  TORCH_CHECK(sizes == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
              " and output tensor size ", sizes, " should match");
}

void resizeOut(const at::Tensor& out, at::IntArrayRef sizes, at::IntArrayRef strides,
               const at::TensorOptions& options) {
  TORCH_CHECK(options.dtype() == out.dtype(), "Expected out tensor to have dtype ", options.dtype(),
              ", but got ", out.dtype(), " instead");
  TORCH_CHECK(out.device().is_privateuseone(), "Expected out tensor to have device npu, but got ",
              out.device(), " instead");
  const bool resized = at::native::resize_output(out, sizes);
  at::assert_no_internal_overlap(out);
  if (!resized) {
    return;
  }
  if (!strides.empty()) {
    out.unsafeGetTensorImpl()->set_sizes_and_strides(sizes, strides);
  } else if (options.memory_format_opt().has_value()) {
    out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
  }
}

}  // namespace torch_npu
