// What PyTorch's core asks of an accelerator outside the dispatcher: is there a device, which
// generator, pinned memory, who owns this pointer. Registered for PrivateUse1 when the library is
// loaded; holds no state.
#pragma once

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

struct C10_EXPORT NPUHooks final : public at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  // At least one device exists. Initialises nothing and never throws.
  bool isAvailable() const override;
  bool hasPrimaryContext(DeviceIndex device_index) const override;
  void init() const override;

  DeviceIndex deviceCount() const override;
  void setCurrentDevice(DeviceIndex device) const override;
  DeviceIndex getCurrentDevice() const override;
  DeviceIndex exchangeDevice(DeviceIndex device) const override;
  DeviceIndex maybeExchangeDevice(DeviceIndex device) const override;

  const at::Generator& getDefaultGenerator(DeviceIndex device_index = -1) const override;
  at::Generator getNewGenerator(DeviceIndex device_index = -1) const override;

  // Whether the pointer lies in host memory that CANN allocated or registered.
  bool isPinnedPtr(const void* data) const override;
  at::Allocator* getPinnedMemoryAllocator() const override;
  at::Device getDeviceFromPtr(void* data) const override;

  // Moves the storage to a new allocation of `new_bytes` and copies what fits, in order with the
  // current stream.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t new_bytes) const override;
};

}  // namespace torch_npu
