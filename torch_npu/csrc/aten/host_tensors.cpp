#include "torch_npu/csrc/aten/host_tensors.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <utility>

#include "torch_npu/csrc/aten/composed_tensors.h"
#include "torch_npu/csrc/aten/host_view.h"
#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_memcpy.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {
namespace {

bool isNpu(c10::Device device) { return device.type() == c10::DeviceType::PrivateUse1; }

NPUStream streamOf(c10::Device device) { return getCurrentNPUStream(device.index()); }

void writeDevice(void* device_pointer, const void* host, size_t bytes, c10::Device device) {
  if (bytes == 0) {
    return;
  }
  const NPUStream stream = streamOf(device);
  if (void* view = hostView(device_pointer)) {
    // The memory may be a block that work in flight still uses.
    stream.synchronize();
    std::memcpy(view, host, bytes);
    return;
  }
  memcpyAndSync(device_pointer, host, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream);
}

void readDevice(void* host, const void* device_pointer, size_t bytes, c10::Device device) {
  if (bytes == 0) {
    return;
  }
  memcpyAndSync(host, device_pointer, bytes, ACL_MEMCPY_DEVICE_TO_HOST, streamOf(device));
}

// New device memory with the given contents.
c10::DataPtr allocateFilled(const void* host, size_t bytes, c10::Device device) {
  const NPUGuard guard(device);
  c10::DataPtr memory = cachingAllocator()->allocate(bytes);
  writeDevice(memory.get(), host, bytes, device);
  return memory;
}

void deleteStorageReference(void* storage) { delete static_cast<c10::Storage*>(storage); }

// A CPU storage over the bytes of an npu storage, which it keeps alive. An operator may resize
// it: it then moves to memory of its own.
c10::Storage viewOnHost(const c10::Storage& storage) {
  void* data = storage.mutable_data();
  c10::DataPtr view(data != nullptr ? hostView(data) : nullptr, new c10::Storage(storage),
                    &deleteStorageReference, c10::Device(c10::DeviceType::CPU));
  return c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(), std::move(view),
                      c10::GetCPUAllocator(), /*resizable=*/true);
}

c10::Storage allocateOnHost(size_t bytes) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes, c10::GetCPUAllocator(),
                      /*resizable=*/true);
}

// Bytes from the tensor's first element to the end of its last.
size_t spannedBytes(const at::Tensor& tensor) {
  return at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.itemsize());
}

void copyFlags(const at::Tensor& to, const at::Tensor& from) {
  to._set_conj(from.is_conj());
  to._set_neg(from.is_neg());
  if (from.unsafeGetTensorImpl()->is_wrapped_number()) {
    to.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
}

at::Tensor makeStrided(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like,
                       int64_t storage_offset) {
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(key), like.dtype());
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), storage_offset);
  copyFlags(tensor, like);
  return tensor;
}

}  // namespace

void HostTensors::waitFor(c10::Device device) {
  for (const c10::Device& waited : waited_for_) {
    if (waited == device) {
      return;
    }
  }
  streamOf(device).synchronize();
  waited_for_.push_back(device);
}

HostTensors::StoragePair& HostTensors::pairOf(const c10::Storage& device_storage) {
  for (StoragePair& pair : storages_) {
    if (pair.device.is_alias_of(device_storage)) {
      return pair;
    }
  }
  waitFor(device_storage.device());
  c10::Storage host =
      hasHostView() ? viewOnHost(device_storage) : allocateOnHost(device_storage.nbytes());
  const void* host_data = host.data();
  return storages_.emplace_back(StoragePair{device_storage, std::move(host), host_data});
}

c10::Storage HostTensors::toHost(const c10::Storage& storage) {
  if (!isNpu(storage.device())) {
    return storage;
  }
  StoragePair& pair = pairOf(storage);
  if (!hasHostView()) {
    readDevice(pair.host.mutable_data(), storage.data(), storage.nbytes(), storage.device());
  }
  return pair.host;
}

void HostTensors::fetch(const at::Tensor& tensor, const at::Tensor& host) {
  if (tensor.numel() > 0) {
    const size_t offset = static_cast<size_t>(tensor.storage_offset()) * tensor.itemsize();
    readDevice(static_cast<char*>(host.storage().mutable_data()) + offset,
               static_cast<const char*>(tensor.storage().data()) + offset, spannedBytes(tensor),
               tensor.device());
  }
}

at::Tensor HostTensors::stridedToHost(const at::Tensor& tensor) {
  at::Tensor host = makeStrided(pairOf(tensor.storage()).host, c10::DispatchKey::CPU, tensor,
                                tensor.storage_offset());
  if (!hasHostView()) {
    fetch(tensor, host);
  }
  return host;
}

at::Tensor HostTensors::toHost(const at::Tensor& tensor) {
  if (!tensor.defined() || !isNpu(tensor.device())) {
    return tensor;
  }
  if (const TensorPair* known = findDevice(tensor)) {
    return known->host;
  }
  at::Tensor host = isComposed(tensor)
                        ? composeFrom(tensor, c10::Device(c10::DeviceType::CPU),
                                      [this](const at::Tensor& part) { return toHost(part); })
                        : stridedToHost(tensor);
  // Nothing is differentiated on the host, but some kernels keep more for the backward pass of
  // an argument that needs a gradient.
  if (tensor.requires_grad()) {
    host.unsafeGetTensorImpl()->set_requires_grad(true);
  }
  tensors_.emplace_back(TensorPair{tensor, host});
  return host;
}

void HostTensors::followResize(StoragePair& pair) {
  const size_t bytes = pair.host.nbytes();
  if (pair.host.data() == pair.host_data && bytes == pair.device.nbytes()) {
    return;
  }
  pair.device.set_data_ptr_noswap(allocateFilled(pair.host.data(), bytes, pair.device.device()));
  pair.device.set_nbytes(bytes);
  pair.host_data = pair.host.data();
}

c10::Storage HostTensors::toDevice(const c10::Storage& host_storage) {
  for (StoragePair& pair : storages_) {
    if (pair.host.is_alias_of(host_storage)) {
      followResize(pair);
      return pair.device;
    }
  }
  const size_t bytes = host_storage.nbytes();
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       allocateFilled(host_storage.data(), bytes, device_), cachingAllocator(),
                       /*resizable=*/true);
  storages_.emplace_back(StoragePair{storage, host_storage, host_storage.data()});
  return storage;
}

at::Tensor HostTensors::stridedToDevice(const at::Tensor& tensor) {
  const bool owns_its_memory = tensor.storage().use_count() == 1;
  if (!owns_its_memory) {
    return makeStrided(toDevice(tensor.storage()), c10::DispatchKey::PrivateUse1, tensor,
                       tensor.storage_offset());
  }
  // Operators of unknown output size leave storages larger than their result.
  const size_t bytes = spannedBytes(tensor);
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes,
                       allocateFilled(tensor.const_data_ptr(), bytes, device_), cachingAllocator(),
                       /*resizable=*/true);
  return makeStrided(std::move(storage), c10::DispatchKey::PrivateUse1, tensor, 0);
}

at::Tensor HostTensors::toDevice(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.device().is_cpu()) {
    return tensor;
  }
  if (const TensorPair* known = findHost(tensor)) {
    return known->device;
  }
  at::Tensor device_tensor =
      isComposed(tensor)
          ? composeFrom(tensor, device_, [this](const at::Tensor& part) { return toDevice(part); })
          : stridedToDevice(tensor);
  tensors_.emplace_back(TensorPair{device_tensor, tensor});
  return device_tensor;
}

void HostTensors::writeBackStrided(const at::Tensor& tensor, const at::Tensor& host) {
  c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
  const c10::Storage& host_storage = host.storage();
  StoragePair& storages = pairOf(impl.unsafe_storage());
  if (!storages.host.is_alias_of(host_storage)) {
    impl.set_storage_keep_dtype(toDevice(host_storage));
  } else if (host_storage.data() != storages.host_data) {
    followResize(storages);
  } else if (!hasHostView() && host.numel() > 0) {
    const size_t offset = static_cast<size_t>(host.storage_offset()) * host.itemsize();
    writeDevice(static_cast<char*>(impl.unsafe_storage().mutable_data()) + offset,
                static_cast<const char*>(host_storage.data()) + offset, spannedBytes(host),
                tensor.device());
  }
  if (tensor.sizes() != host.sizes() || tensor.strides() != host.strides() ||
      tensor.storage_offset() != host.storage_offset()) {
    impl.set_sizes_and_strides(host.sizes(), host.strides(), host.storage_offset());
  }
  copyFlags(tensor, host);
}

void HostTensors::writeBack(const at::Tensor& tensor) {
  const TensorPair* known = findDevice(tensor);
  if (known == nullptr) {
    return;
  }
  const at::Tensor host = known->host;
  if (!isComposed(tensor)) {
    writeBackStrided(tensor, host);
    return;
  }
  replaceParts(tensor, host, [this](const at::Tensor& part) {
    const TensorPair* kept = findHost(part);
    if (kept == nullptr) {
      return toDevice(part);
    }
    const at::Tensor device_part = kept->device;
    writeBack(device_part);
    return device_part;
  });
}

const HostTensors::TensorPair* HostTensors::findDevice(const at::Tensor& tensor) const {
  for (const TensorPair& pair : tensors_) {
    if (pair.device.is_same(tensor)) {
      return &pair;
    }
  }
  return nullptr;
}

const HostTensors::TensorPair* HostTensors::findHost(const at::Tensor& tensor) const {
  for (const TensorPair& pair : tensors_) {
    if (pair.host.is_same(tensor)) {
      return &pair;
    }
  }
  return nullptr;
}

}  // namespace torch_npu
