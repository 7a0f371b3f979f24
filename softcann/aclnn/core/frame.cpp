#include "aclnn/core/frame.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/as_strided.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/zeros.h>
#include <c10/core/CPUAllocator.h>

#include <algorithm>

#include "aclnn/core/half_precision.h"
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

// Makes `tensor` one over `elements` elements of somebody else's memory.
void borrow(at::Tensor& tensor, void* data, int64_t elements, at::ScalarType dtype) {
  if (!reusable(tensor)) {
    tensor = newBorrowingTensor();
  }
  c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(at::DataPtr(data, at::Device(at::kCPU)));
  storage->set_nbytes(static_cast<size_t>(elements) * c10::elementSize(dtype));
  if (impl->dtype() != c10::scalarTypeToTypeMeta(dtype)) {
    impl->set_storage_and_dtype(impl->storage(), c10::scalarTypeToTypeMeta(dtype));
  }
}

// Below this, calling ATen costs more than converting.
constexpr int64_t kConvertedInPlace = 512;

template <class Function>
void withHalfType(at::ScalarType type, void* data, Function function) {
  if (type == at::kHalf) {
    function(static_cast<at::Half*>(data));
  } else {
    function(static_cast<at::BFloat16*>(data));
  }
}

}  // namespace

void Frame::bind(Slot& slot, const TensorDesc& desc) {
  slot.desc = &desc;
  slot.written = false;
  if (mode_ == Mode::kCheck) {
    slot.tensor = at::detail::empty_strided_meta(desc.sizes(), desc.strides(), desc.dtype);
    return;
  }
  const bool converted = converting_ && at::isReducedFloatingType(desc.dtype);
  if (mode_ == Mode::kTrial) {
    const at::ScalarType dtype = converted ? at::kFloat : desc.dtype;
    slot.tensor = at::zeros({desc.extent()}, at::TensorOptions().dtype(dtype));
    slot.tensor.unsafeGetTensorImpl()->set_sizes_and_strides(desc.sizes(), desc.strides(),
                                                             desc.offset);
    return;
  }
  borrow(slot.tensor, hostView(desc.data), desc.extent(), desc.dtype);
  slot.tensor.unsafeGetTensorImpl()->set_sizes_and_strides(desc.sizes(), desc.strides(),
                                                           desc.offset);
  if (converted) [[unlikely]] {
    convert(slot, desc);
  }
}

// The copy has the caller's strides, so that the kernel takes the way that suits them; only what
// is scattered over much more memory than it has elements is gathered.
void Frame::convert(Slot& slot, const TensorDesc& desc) {
  const int64_t count = convertedElements(desc);
  if (slot.capacity < count) {
    slot.memory.clear();
    slot.memory = c10::GetCPUAllocator()->allocate(static_cast<size_t>(count) * sizeof(float));
    slot.capacity = count;
  }
  auto* const values = static_cast<float*>(slot.memory.get());
  borrow(slot.converted, values, count, at::kFloat);
  c10::TensorImpl* impl = slot.converted.unsafeGetTensorImpl();
  slot.is_converted = true;
  if (isScattered(desc)) {
    impl->set_sizes_contiguous(desc.sizes());
    slot.converted.copy_(slot.tensor);
  } else if (count <= kConvertedInPlace) {
    impl->set_sizes_and_strides(desc.sizes(), desc.strides());
    withHalfType(desc.dtype, hostView(desc.data), [&](const auto* half) {
      for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(half[desc.offset + i]);
    });
  } else {
    impl->set_sizes_contiguous({count});
    slot.converted.copy_(slot.tensor.as_strided({count}, {1}, desc.offset));
    impl->set_sizes_and_strides(desc.sizes(), desc.strides());
  }
}

void Frame::dropConverted() {
  int64_t kept = 0;
  for (Slot& slot : slots_) {
    slot.is_converted = false;
    kept += slot.capacity * int64_t{sizeof(float)};
    if (kept > kKeptConvertedBytes) {
      kept -= slot.capacity * int64_t{sizeof(float)};
      slot.memory.clear();
      slot.capacity = 0;
    }
  }
  converting_ = false;
}

at::Tensor& Frame::lend(const TensorDesc& desc) {
  if (used_ == slots_.size()) {
    slots_.emplace_back();
  }
  Slot& slot = slots_[used_++];
  bind(slot, desc);
  return slot.lent();
}

at::Tensor& Frame::lendWritten(const TensorDesc& desc) {
  const size_t searched = std::min(used_, kAliasSearchLimit);
  for (size_t i = 0; i < searched; ++i) {
    if (slots_[i].desc != nullptr && slots_[i].desc->sameView(desc) && desc.data != nullptr) {
      slots_[i].written = true;
      return slots_[i].lent();
    }
  }
  at::Tensor& tensor = lend(desc);
  slots_[used_ - 1].written = true;
  return tensor;
}

const at::Tensor& Frame::find(const TensorDesc& desc) const {
  for (size_t i = 0; i < used_; ++i) {
    if (slots_[i].desc == &desc || slots_[i].desc->sameView(desc)) {
      return slots_[i].lent();
    }
  }
  TORCH_INTERNAL_ASSERT(false, "no tensor was lent for this descriptor");
}

void Frame::restoreStrides(const TensorDesc& desc) const {
  if (mode_ != Mode::kCompute || (converting_ && at::isReducedFloatingType(desc.dtype))) {
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

void Frame::storeResults() const {
  for (size_t i = 0; i < used_; ++i) {
    const Slot& slot = slots_[i];
    if (!slot.written || !slot.is_converted) continue;
    const int64_t count = slot.tensor.numel();
    if (count <= kConvertedInPlace && slot.tensor.is_contiguous() &&
        slot.converted.is_contiguous() && slot.converted.numel() == count) {
      withHalfType(slot.tensor.scalar_type(), slot.tensor.data_ptr(), [&](auto* half) {
        const float* const values = slot.converted.const_data_ptr<float>();
        for (int64_t k = 0; k < count; ++k) half[k] = values[k];
      });
    } else {
      slot.tensor.copy_(slot.converted);
    }
  }
}

Frame& computeFrame() {
  thread_local Frame frame(Frame::Mode::kCompute);
  return frame;
}

}  // namespace softcann::aclnn
