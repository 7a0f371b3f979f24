// Device memory from two functions of the user's: torch.npu.memory.NPUPluggableAllocator.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <sys/types.h>

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include "acl/acl_rt.h"

namespace torch_npu {

class C10_EXPORT PluggableAllocator : public std::enable_shared_from_this<PluggableAllocator> {
 public:
  using Malloc = void*(ssize_t size, int device, aclrtStream stream);
  using Free = void(void* pointer, ssize_t size, int device, aclrtStream stream);

  // Finds the functions in a shared library, which stays loaded. Throws c10::Error that names the
  // library or the symbol that is not there.
  static std::shared_ptr<PluggableAllocator> load(const std::string& library,
                                                  const std::string& malloc_name,
                                                  const std::string& free_name);

  PluggableAllocator(Malloc* malloc, Free* free) : malloc_(malloc), free_(free) {}

  // Null if the function returns null or throws; what it throws becomes a warning. No lock that
  // free() or an allocation takes may be held: the functions may call Python.
  void* allocate(size_t size, c10::DeviceIndex device, c10::StreamId stream) const;
  // Gives back what allocate() returned for the same size, device and stream.
  void free(void* pointer, size_t size, c10::DeviceIndex device,
            c10::StreamId stream) const noexcept;

  // One call per tensor, without caching; for the current device and stream. Throws
  // c10::OutOfMemoryError.
  c10::DataPtr allocateTensor(size_t size, c10::DeviceIndex device);

 private:
  Malloc* malloc_;
  Free* free_;
};

// Which allocator the segments of a private pool come from; null for the device's own memory. Set
// before the pool is first held.
void setPoolAllocator(c10::MempoolId_t pool, std::shared_ptr<PluggableAllocator> allocator);
std::shared_ptr<PluggableAllocator> poolAllocator(c10::MempoolId_t pool);

// The allocator that stands in for the caching allocator in this process; null if none does. It
// never changes once memory was allocated.
PluggableAllocator* replacementAllocator() noexcept;
void setReplacementAllocator(std::shared_ptr<PluggableAllocator> allocator);

}  // namespace torch_npu
