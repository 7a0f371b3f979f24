#include "aclnn/core/frame.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "runtime/core/task.h"

namespace softcann::aclnn {

namespace {

// A tensor list's elements alias position by position, and its kernels do not ask for identity.
constexpr size_t kAliasSearchLimit = 16;

at::Tensor newBorrowingTensor() {
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), 0,
                                                       at::DataPtr(nullptr, at::Device(at::kCPU)),
                                                       /*allocator=*/nullptr, /*resizable=*/false);
  return at::detail::make_tensor<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                  c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                  c10::scalarTypeToTypeMeta(at::kFloat));
}

bool reusable(const at::Tensor& tensor) {
  return tensor.defined() && tensor.use_count() == 1 && tensor.storage().use_count() == 1 &&
         tensor.unsafeGetTensorImpl()->key_set() == c10::DispatchKeySet(c10::DispatchKey::CPU)
                                                        .add(c10::DispatchKey::ADInplaceOrView)
                                                        .add(c10::DispatchKey::AutogradCPU);
}

}  // namespace

void Frame::bind(Slot& slot, const TensorDesc& desc) {
  slot.desc = &desc;
  if (mode_ == Mode::kCheck) {
    slot.tensor = at::detail::empty_strided_meta(desc.sizes(), desc.strides(), desc.dtype);
    return;
  }
  if (mode_ == Mode::kTrial) {
    slot.tensor = at::zeros({desc.extent()}, at::TensorOptions().dtype(desc.dtype));
    slot.tensor.unsafeGetTensorImpl()->set_sizes_and_strides(desc.sizes(), desc.strides(),
                                                             desc.offset);
    return;
  }
  if (!reusable(slot.tensor)) {
    slot.tensor = newBorrowingTensor();
  }
  c10::TensorImpl* impl = slot.tensor.unsafeGetTensorImpl();
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(hostView(desc.data), at::Device(at::kCPU)));
  storage->set_nbytes(static_cast<size_t>(desc.extent()) * c10::elementSize(desc.dtype));
  if (impl->dtype() != c10::scalarTypeToTypeMeta(desc.dtype)) {
    impl->set_storage_and_dtype(impl->storage(), c10::scalarTypeToTypeMeta(desc.dtype));
  }
  impl->set_sizes_and_strides(desc.sizes(), desc.strides(), desc.offset);
}

at::Tensor& Frame::lend(const TensorDesc& desc) {
  if (used_ == slots_.size()) {
    slots_.emplace_back();
  }
  Slot& slot = slots_[used_++];
  bind(slot, desc);
  return slot.tensor;
}

at::Tensor& Frame::lendWritten(const TensorDesc& desc) {
  const size_t searched = std::min(used_, kAliasSearchLimit);
  for (size_t i = 0; i < searched; ++i) {
    if (slots_[i].desc != nullptr && slots_[i].desc->sameView(desc) && desc.data != nullptr) {
      return slots_[i].tensor;
    }
  }
  return lend(desc);
}

const at::Tensor& Frame::find(const TensorDesc& desc) const {
  for (size_t i = 0; i < used_; ++i) {
    if (slots_[i].desc == &desc || slots_[i].desc->sameView(desc)) {
      return slots_[i].tensor;
    }
  }
  TORCH_INTERNAL_ASSERT(false, "no tensor was lent for this descriptor");
}

void Frame::restoreStrides(const TensorDesc& desc) const {
  if (mode_ != Mode::kCompute) {
    return;
  }
  const at::Tensor& tensor = find(desc);
  if (tensor.strides() == desc.strides()) {
    return;
  }
  const at::Tensor values = tensor.clone();
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(desc.sizes(), desc.strides(), desc.offset);
  tensor.copy_(values);
}

Frame& computeFrame() {
  thread_local Frame frame(Frame::Mode::kCompute);
  return frame;
}

}  // namespace softcann::aclnn
