#include "torch_npu/csrc/acl/handles.h"

#include <atomic>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"

namespace torch_npu::acl {

namespace {

std::atomic<bool> abandoned{false};

}  // namespace

void abandonHandles() noexcept { abandoned.store(true, std::memory_order_relaxed); }

bool handlesAbandoned() noexcept { return abandoned.load(std::memory_order_relaxed); }

void detail::EventDeleter::operator()(aclrtEvent event) const noexcept {
  if (!handlesAbandoned()) {
    NPU_CHECK_WARN(api().aclrtDestroyEvent(event));
  }
}

void detail::StreamDeleter::operator()(aclrtStream stream) const noexcept {
  if (!handlesAbandoned()) {
    NPU_CHECK_WARN(api().aclrtDestroyStream(stream));
  }
}

void detail::DeviceMemoryDeleter::operator()(void* memory) const noexcept {
  if (!handlesAbandoned()) {
    NPU_CHECK_WARN(api().aclrtFree(memory));
  }
}

void detail::HostMemoryDeleter::operator()(void* memory) const noexcept {
  if (!handlesAbandoned()) {
    NPU_CHECK_WARN(api().aclrtFreeHost(memory));
  }
}

UniqueEvent createEvent(uint32_t flags) {
  aclrtEvent event = nullptr;
  // The extended form's events are not limited in number and need no reset between two records.
  if (api().aclrtCreateEventExWithFlag != nullptr) {
    NPU_CHECK(api().aclrtCreateEventExWithFlag(&event, flags));
  } else {
    NPU_CHECK(api().aclrtCreateEventWithFlag(&event, flags));
  }
  return UniqueEvent(event);
}

UniqueStream createStream(uint32_t priority, uint32_t flags) {
  aclrtStream stream = nullptr;
  NPU_CHECK(api().aclrtCreateStreamWithConfig(&stream, priority, flags));
  return UniqueStream(stream);
}

UniqueDeviceMemory allocateDeviceMemory(size_t size) {
  void* memory = nullptr;
  NPU_CHECK(api().aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return UniqueDeviceMemory(memory);
}

UniqueHostMemory allocateHostMemory(size_t size) {
  void* memory = nullptr;
  NPU_CHECK(api().aclrtMallocHost(&memory, size));
  return UniqueHostMemory(memory);
}

}  // namespace torch_npu::acl
