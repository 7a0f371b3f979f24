// Owners of AscendCL objects: a unique_ptr each, whose deleter gives the object back.
//
// A deleter never throws. It does nothing once the runtime is finalised or in a forked child,
// where the runtime has taken, or never owned, the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "acl/acl_rt.h"

namespace torch_npu::acl {

namespace detail {
struct EventDeleter {
  void operator()(aclrtEvent event) const noexcept;
};
struct StreamDeleter {
  void operator()(aclrtStream stream) const noexcept;
};
struct DeviceMemoryDeleter {
  void operator()(void* memory) const noexcept;
};
struct HostMemoryDeleter {
  void operator()(void* memory) const noexcept;
};
template <class Handle, class Deleter>
using Owner = std::unique_ptr<std::remove_pointer_t<Handle>, Deleter>;
}  // namespace detail

using UniqueEvent = detail::Owner<aclrtEvent, detail::EventDeleter>;
using UniqueStream = detail::Owner<aclrtStream, detail::StreamDeleter>;
using UniqueDeviceMemory = detail::Owner<void*, detail::DeviceMemoryDeleter>;
using UniqueHostMemory = detail::Owner<void*, detail::HostMemoryDeleter>;

// Each throws as NPU_CHECK does, and works on the calling thread's current device.
UniqueEvent createEvent(uint32_t flags);
UniqueStream createStream(uint32_t priority, uint32_t flags);
UniqueDeviceMemory allocateDeviceMemory(size_t size);
UniqueHostMemory allocateHostMemory(size_t size);

// From here on handles are dropped instead of given back: this process was forked from the one that
// owns them. A child of a process that has not used the runtime makes its own; see lazyInit().
void abandonHandles() noexcept;
bool handlesAbandoned() noexcept;

}  // namespace torch_npu::acl
