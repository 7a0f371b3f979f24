#include "torch_npu/csrc/aten/inference.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include "torch_npu/csrc/aten/structured.h"

namespace torch_npu {

at::Tensor MetaInference::operator()(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return tensor;
  }
  if (!device_ && tensor.device().is_privateuseone()) {
    device_ = tensor.device();
  }
  at::Tensor meta =
      at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  meta._set_conj(tensor.is_conj());
  meta._set_neg(tensor.is_neg());
  if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
    meta.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return meta;
}

at::Tensor HostArguments::operator()(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().is_cpu()) {
    return tensor;
  }
  if (at::has_internal_overlap(tensor) == at::MemOverlap::Yes) {
    return tensor.cpu();
  }
  // With its strides, which some kernels check.
  at::Tensor copy =
      at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
  return copy.copy_(tensor);
}

at::Tensor& HostCall::output(const at::Tensor& out) {
  return outputs_.emplace_back(at::empty(out.sizes(), out.options().device(at::kCPU)));
}

std::optional<at::Tensor> ArgumentCopies::operator()(const std::optional<at::Tensor>& tensor) {
  return tensor ? std::optional<at::Tensor>((*this)(*tensor)) : std::nullopt;
}

std::vector<at::Tensor> ArgumentCopies::operator()(at::TensorList tensors) {
  return (*this)(at::ITensorListRef(tensors));
}

std::vector<at::Tensor> ArgumentCopies::operator()(const at::ITensorListRef& tensors) {
  std::vector<at::Tensor> result;
  result.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    result.push_back((*this)(tensor));
  }
  return result;
}

c10::List<std::optional<at::Tensor>> ArgumentCopies::operator()(
    const c10::List<std::optional<at::Tensor>>& tensors) {
  c10::List<std::optional<at::Tensor>> result;
  result.reserve(tensors.size());
  for (const std::optional<at::Tensor>& tensor : tensors) {
    result.push_back((*this)(tensor));
  }
  return result;
}

at::Tensor MetaInference::output(const at::Tensor& result) const {
  if (!result.defined()) {
    return result;
  }
  const at::Device device = device_.value_or(at::Device(at::kPrivateUse1));
  return newOutput(result.sizes(), result.strides(), result.options().device(device));
}

void MetaInference::resize(const at::Tensor& out, const at::Tensor& result) const {
  checkWritable(out);
  TORCH_CHECK(out.device().is_privateuseone(), "Expected out tensor to have device npu, but got ",
              out.device(), " instead");
  if (at::native::resize_output(out, result.sizes())) {
    out.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides());
  }
  at::assert_no_internal_overlap(out);
}

void MetaInference::checkInplace(const at::Tensor& self, const at::Tensor& result) const {
  checkWritable(self);
  TORCH_CHECK(result.sizes() == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
              " and output tensor size ", result.sizes(), " should match");
  TORCH_CHECK(c10::canCast(result.scalar_type(), self.scalar_type()), "result type ",
              result.scalar_type(), " can't be cast to the desired output type ",
              self.scalar_type());
}

}  // namespace torch_npu
