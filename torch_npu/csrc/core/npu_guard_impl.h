// The device guard: how PyTorch's device-independent code (DeviceGuard, torch.Stream, torch.Event,
// torch.accelerator, autograd's engine) reaches devices, streams and events of an NPU. Registered
// for PrivateUse1 when the library is loaded. An event, opaque to PyTorch, is an aclrtEvent.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

struct C10_EXPORT NPUGuardImpl final : public c10::impl::DeviceGuardImplInterface {
  static constexpr c10::DeviceType static_type = c10::DeviceType::PrivateUse1;

  NPUGuardImpl() = default;
  explicit NPUGuardImpl(c10::DeviceType type);

  c10::DeviceType type() const override { return static_type; }
  c10::Device exchangeDevice(c10::Device device) const override;
  c10::Device getDevice() const override;
  void setDevice(c10::Device device) const override;
  void uncheckedSetDevice(c10::Device device) const noexcept override;
  DeviceIndex deviceCount() const noexcept override;
  c10::DeviceCapability getDeviceCapability(c10::Device device) const override;

  c10::Stream getStream(c10::Device device) const override;
  c10::Stream getDefaultStream(c10::Device device) const override;
  c10::Stream getStreamFromGlobalPool(c10::Device device,
                                      bool is_high_priority = false) const override;
  // Streams are pooled, so a new one is the next of the pool and needs no destruction.
  c10::Stream getNewStream(c10::Device device, int priority = 0) const override;
  c10::Stream exchangeStream(c10::Stream stream) const override;
  void* getStreamNativeHandle(c10::Stream stream) const override;
  bool queryStream(const c10::Stream& stream) const override;
  void synchronizeStream(const c10::Stream& stream) const override;
  bool isStreamCapturing(const c10::Stream& stream) const override;
  void synchronizeDevice(DeviceIndex device_index) const override;

  void record(void** event, const c10::Stream& stream, DeviceIndex device_index,
              c10::EventFlag flag) const override;
  void block(void* event, const c10::Stream& stream) const override;
  bool queryEvent(void* event) const override;
  void synchronizeEvent(void* event) const override;
  double elapsedTime(void* start, void* end, DeviceIndex device_index) const override;
  void destroyEvent(void* event, DeviceIndex device_index) const noexcept override;

  void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override;
};

}  // namespace torch_npu
