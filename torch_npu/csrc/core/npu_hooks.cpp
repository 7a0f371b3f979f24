#include "torch_npu/csrc/core/npu_hooks.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/npu_generator.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_memcpy.h"

namespace torch_npu {
namespace {

[[maybe_unused]] const bool kHooksRegistered = [] {
  // Never destroyed: PyTorch keeps the pointer for the life of the process.
  at::RegisterPrivateUse1HooksInterface(new NPUHooks());
  return true;
}();

aclrtPtrAttributes pointerAttributes(const void* data) {
  TORCH_CHECK_NOT_IMPLEMENTED(acl::api().aclrtPointerGetAttributes != nullptr,
                              "this CANN lacks aclrtPointerGetAttributes: it cannot tell where a "
                              "pointer lies, ask the tensor instead");
  ensureAnyContext();
  aclrtPtrAttributes attributes{};
  NPU_CHECK(acl::api().aclrtPointerGetAttributes(data, &attributes));
  return attributes;
}

}  // namespace

bool NPUHooks::isAvailable() const { return torch_npu::deviceCount() > 0; }

bool NPUHooks::hasPrimaryContext(DeviceIndex device_index) const {
  return hasContext(device_index < 0 ? currentDevice() : device_index);
}

void NPUHooks::init() const { lazyInit(); }

DeviceIndex NPUHooks::deviceCount() const { return torch_npu::deviceCount(); }

void NPUHooks::setCurrentDevice(DeviceIndex device) const { setDevice(device); }

DeviceIndex NPUHooks::getCurrentDevice() const { return currentDevice(); }

DeviceIndex NPUHooks::exchangeDevice(DeviceIndex device) const {
  return torch_npu::exchangeDevice(device);
}

DeviceIndex NPUHooks::maybeExchangeDevice(DeviceIndex device) const {
  return torch_npu::maybeExchangeDevice(device);
}

const at::Generator& NPUHooks::getDefaultGenerator(DeviceIndex device_index) const {
  return getDefaultNPUGenerator(device_index);
}

at::Generator NPUHooks::getNewGenerator(DeviceIndex device_index) const {
  return createNPUGenerator(device_index);
}

bool NPUHooks::isPinnedPtr(const void* data) const {
  // Before the first use nothing can be pinned, and asking must not initialise a device.
  if (!isInitialized() || acl::api().aclrtPointerGetAttributes == nullptr) return false;
  ensureAnyContext();
  aclrtPtrAttributes attributes{};
  // CANN may call memory that it does not know an error.
  if (acl::api().aclrtPointerGetAttributes(data, &attributes) != ACL_SUCCESS) return false;
  return attributes.location.type == ACL_MEM_LOCATION_TYPE_HOST;
}

at::Allocator* NPUHooks::getPinnedMemoryAllocator() const {
  return at::getHostAllocator(c10::DeviceType::PrivateUse1);
}

at::Device NPUHooks::getDeviceFromPtr(void* data) const {
  const aclrtPtrAttributes attributes = pointerAttributes(data);
  TORCH_CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE, "The pointer ", data,
              " does not lie in the memory of an npu device");
  return {c10::DeviceType::PrivateUse1, static_cast<DeviceIndex>(attributes.location.id)};
}

void NPUHooks::resizePrivateUse1Bytes(const c10::Storage& storage, size_t new_bytes) const {
  TORCH_CHECK(storage.resizable(), "Trying to resize storage that is not resizable");
  if (new_bytes == 0) {
    storage.set_data_ptr_noswap(c10::DataPtr(nullptr, storage.device()));
    storage.set_nbytes(0);
    return;
  }
  const NPUGuard guard(storage.device());
  c10::DataPtr new_data = storage.allocator()->allocate(new_bytes);
  const size_t kept = std::min(storage.nbytes(), new_bytes);
  if (kept > 0 && storage.data() != nullptr) {
    memcpyAsync(new_data.get(), storage.data(), kept, ACL_MEMCPY_DEVICE_TO_DEVICE,
                getCurrentNPUStream(storage.device().index()));
  }
  storage.set_data_ptr_noswap(std::move(new_data));
  storage.set_nbytes(new_bytes);
}

}  // namespace torch_npu
