#include "torch_npu/csrc/aten/inference.h"

#include <ATen/EmptyTensor.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/grad_mode.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/zeros.h>
#include <ATen/record_function.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <bit>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "torch_npu/csrc/aten/structured.h"

namespace torch_npu {

namespace {

void copyBits(const at::Tensor& from, at::Tensor& to) {
  to._set_conj(from.is_conj());
  to._set_neg(from.is_neg());
  if (from.unsafeGetTensorImpl()->is_wrapped_number()) {
    to.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
}

// What kernels gave for the forms that have occurred, for the process. When it is full it begins
// anew: programs whose shapes never repeat gain nothing from it.
class KnownForms {
 public:
  bool find(uint64_t form, std::vector<at::Tensor>& results) {
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(form);
    if (found == known_.end()) return false;
    results = found->second;
    return true;
  }
  void insert(uint64_t form, const std::vector<at::Tensor>& results) {
    const std::lock_guard lock(mutex_);
    if (known_.size() >= kMost) known_.clear();
    known_.insert_or_assign(form, results);
  }

 private:
  static constexpr size_t kMost = 4096;
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::vector<at::Tensor>> known_;
};

KnownForms& knownForms() {
  static auto* forms = new KnownForms;  // threads may outlive static objects
  return *forms;
}

}  // namespace

void callKernel(c10::function_ref<void()> function) {
  static const c10::DispatchKeySet above =
      c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
      c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot,
                           c10::DispatchKey::FuncTorchDynamicLayerFrontMode,
                           c10::DispatchKey::FuncTorchDynamicLayerBackMode,
                           c10::DispatchKey::Functionalize});
  const c10::impl::ExcludeDispatchKeyGuard below(above);
  const at::NoGradGuard no_grad;
  const at::DisableRecordFunctionGuard unrecorded;
  function();
}

at::Tensor MetaArguments::operator()(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return tensor;
  }
  at::Tensor meta =
      at::detail::empty_strided_meta(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  copyBits(tensor, meta);
  return meta;
}

at::Tensor ZeroArguments::operator()(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().is_cpu()) {
    return tensor;
  }
  const size_t bytes =
      at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size());
  at::Tensor zeros = at::zeros({static_cast<int64_t>(bytes / tensor.element_size())},
                               at::TensorOptions(at::kCPU).dtype(tensor.scalar_type()));
  zeros.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides());
  copyBits(tensor, zeros);
  return zeros;
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

void Inference::mix(uint64_t value) {
  form_ = (std::rotl(form_, 23) ^ value) * 0x9E3779B97F4A7C15u;
  form_ ^= form_ >> 32;
}

void Inference::begin(std::string_view op) {
  add(op);
  add(c10::get_default_dtype_as_scalartype());  // to which integers may be promoted
}

void Inference::add(std::string_view text) {
  mix(text.size());
  mix(std::hash<std::string_view>()(text));
}

void Inference::add(double value) { mix(std::bit_cast<uint64_t>(value)); }

void Inference::add(at::IntArrayRef values) {
  mix(values.size());
  for (const int64_t value : values) mix(static_cast<uint64_t>(value));
}

void Inference::add(const at::Scalar& scalar) {
  add(scalar.type());
  if (scalar.isIntegral(/*includeBool=*/true)) {
    mix(static_cast<uint64_t>(scalar.toLong()));
    return;
  }
  const c10::complex<double> number = scalar.toComplexDouble();
  add(number.real());
  add(number.imag());
}

void Inference::add(at::ArrayRef<at::Scalar> scalars) {
  mix(scalars.size());
  for (const at::Scalar& scalar : scalars) add(scalar);
}

void Inference::add(const at::Tensor& tensor) {
  mix(tensor.defined());
  if (!tensor.defined()) {
    return;
  }
  if (!device_ && tensor.device().is_privateuseone()) {
    device_ = tensor.device();
  }
  const bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  mix(static_cast<uint64_t>(tensor.scalar_type()) << 16 | static_cast<uint64_t>(wrapped) << 2 |
      static_cast<uint64_t>(tensor.is_conj()) << 1 | static_cast<uint64_t>(tensor.is_neg()));
  mix(static_cast<uint64_t>(tensor.device().type()));
  add(tensor.sizes());
  add(tensor.strides());
}

void Inference::add(const std::optional<at::Tensor>& tensor) {
  add(tensor.has_value() ? *tensor : at::Tensor());
}

void Inference::add(const at::ITensorListRef& tensors) {
  mix(tensors.size());
  for (const at::Tensor& tensor : tensors) add(tensor);
}

void Inference::add(const c10::List<std::optional<at::Tensor>>& tensors) {
  mix(tensors.size());
  for (const std::optional<at::Tensor>& tensor : tensors) add(tensor);
}

bool Inference::find(std::vector<at::Tensor>& forms) const {
  return knownForms().find(form_, forms);
}

void Inference::remember(const std::vector<at::Tensor>& forms) const {
  knownForms().insert(form_, forms);
}

at::Tensor Inference::formOf(const at::Tensor& result) {
  if (!result.defined()) {
    return result;
  }
  return at::detail::empty_strided_meta(result.sizes(), result.strides(), result.scalar_type());
}

at::Tensor Inference::output(const at::Tensor& result) const {
  if (!result.defined()) {
    return result;
  }
  const at::Device device = device_.value_or(at::Device(at::kPrivateUse1));
  return newOutput(result.sizes(), result.strides(), result.options().device(device));
}

void Inference::resize(const at::Tensor& out, const at::Tensor& result) const {
  checkWritable(out);
  TORCH_CHECK(out.device().is_privateuseone(), "Expected out tensor to have device npu, but got ",
              out.device(), " instead");
  if (at::native::resize_output(out, result.sizes())) {
    out.unsafeGetTensorImpl()->set_sizes_and_strides(result.sizes(), result.strides());
  }
  at::assert_no_internal_overlap(out);
}

void Inference::checkInplace(const at::Tensor& self, const at::Tensor& result) const {
  checkWritable(self);
  TORCH_CHECK(result.sizes() == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
              " and output tensor size ", result.sizes(), " should match");
  TORCH_CHECK(c10::canCast(result.scalar_type(), self.scalar_type()), "result type ",
              result.scalar_type(), " can't be cast to the desired output type ",
              self.scalar_type());
}

}  // namespace torch_npu
