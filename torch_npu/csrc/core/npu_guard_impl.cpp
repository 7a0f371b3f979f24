#include "torch_npu/csrc/core/npu_guard_impl.h"

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/npu_event.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

C10_REGISTER_GUARD_IMPL(PrivateUse1, NPUGuardImpl);

NPUGuardImpl::NPUGuardImpl(c10::DeviceType type) {
  TORCH_INTERNAL_ASSERT(type == static_type, "NPUGuardImpl initialized with device type ", type);
}

c10::Device NPUGuardImpl::exchangeDevice(c10::Device device) const {
  TORCH_INTERNAL_ASSERT(device.type() == static_type, "expected an npu device, got ", device);
  return {static_type, torch_npu::exchangeDevice(device.index())};
}

c10::Device NPUGuardImpl::getDevice() const { return {static_type, currentDevice()}; }

void NPUGuardImpl::setDevice(c10::Device device) const {
  TORCH_INTERNAL_ASSERT(device.type() == static_type, "expected an npu device, got ", device);
  torch_npu::setDevice(device.index());
}

void NPUGuardImpl::uncheckedSetDevice(c10::Device device) const noexcept {
  torch_npu::uncheckedSetDevice(device.index());
}

DeviceIndex NPUGuardImpl::deviceCount() const noexcept { return torch_npu::deviceCount(); }

c10::DeviceCapability NPUGuardImpl::getDeviceCapability(c10::Device /*device*/) const {
  // Every dtype can be stored and copied; what an operator does not accept, it says itself.
  return {};
}

c10::Stream NPUGuardImpl::getStream(c10::Device device) const {
  return getCurrentNPUStream(device.index()).unwrap();
}

c10::Stream NPUGuardImpl::getDefaultStream(c10::Device device) const {
  return getDefaultNPUStream(device.index()).unwrap();
}

c10::Stream NPUGuardImpl::getStreamFromGlobalPool(c10::Device device, bool is_high_priority) const {
  return getNPUStreamFromPool(is_high_priority ? -1 : 0, device.index()).unwrap();
}

c10::Stream NPUGuardImpl::getNewStream(c10::Device device, int priority) const {
  return getNPUStreamFromPool(priority, device.index()).unwrap();
}

c10::Stream NPUGuardImpl::exchangeStream(c10::Stream stream) const {
  const NPUStream npu_stream(stream);
  const NPUStream previous = getCurrentNPUStream(stream.device_index());
  setCurrentNPUStream(npu_stream);
  return previous.unwrap();
}

void* NPUGuardImpl::getStreamNativeHandle(c10::Stream stream) const {
  return NPUStream(stream).stream();
}

bool NPUGuardImpl::queryStream(const c10::Stream& stream) const {
  return NPUStream(stream).query();
}

void NPUGuardImpl::synchronizeStream(const c10::Stream& stream) const {
  NPUStream(stream).synchronize();
}

bool NPUGuardImpl::isStreamCapturing(const c10::Stream& stream) const {
  return NPUStream(stream).is_capturing();
}

void NPUGuardImpl::synchronizeDevice(DeviceIndex device_index) const {
  torch_npu::synchronizeDevice(device_index);
}

void NPUGuardImpl::record(void** event, const c10::Stream& stream, DeviceIndex device_index,
                          c10::EventFlag flag) const {
  TORCH_CHECK(device_index == -1 || device_index == stream.device_index(), "Event device index ",
              static_cast<int>(device_index), " does not match recording stream's device index ",
              static_cast<int>(stream.device_index()), ".");
  if (C10_UNLIKELY(flag == event::kShared) && *event == nullptr) {
    *event = event::Adoption::take();
    return;
  }
  const aclrtStream handle = NPUStream(stream).stream();
  if (*event == nullptr) *event = event::create(flag == c10::EventFlag::BACKEND_DEFAULT);
  NPU_CHECK(acl::api().aclrtRecordEvent(*event, handle));
}

void NPUGuardImpl::block(void* event, const c10::Stream& stream) const {
  if (event == nullptr) return;
  const aclrtStream handle = NPUStream(stream).stream();
  NPU_CHECK(acl::api().aclrtStreamWaitEvent(handle, event));
}

bool NPUGuardImpl::queryEvent(void* event) const { return event == nullptr || event::query(event); }

void NPUGuardImpl::synchronizeEvent(void* event) const {
  if (event != nullptr) event::synchronize(event);
}

double NPUGuardImpl::elapsedTime(void* start, void* end, DeviceIndex /*device_index*/) const {
  TORCH_CHECK(start != nullptr && end != nullptr,
              "Both events must be recorded before calculating elapsed time.");
  return event::elapsedTime(start, end);
}

void NPUGuardImpl::destroyEvent(void* event, DeviceIndex /*device_index*/) const noexcept {
  event::destroy(event);
}

void NPUGuardImpl::recordDataPtrOnStream(const c10::DataPtr& data,
                                         const c10::Stream& stream) const {
  c10::getDeviceAllocator(static_type)->recordStream(data, stream);
}

}  // namespace torch_npu
