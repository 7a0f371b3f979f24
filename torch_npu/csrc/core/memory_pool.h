// A pool of device memory of the user's own: torch.npu.MemPool.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <memory>
#include <mutex>
#include <vector>

#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

class PluggableAllocator;

// Holds the pool on the device that is current now, and on others from their first begin() on. When
// it ends, the free memory of the pool goes back to the device; what tensors still have follows
// with the first emptyCache() after their end. Thread-safe.
class C10_EXPORT MemoryPool {
 public:
  // With an allocator, the pool's segments come from it, and go back to it.
  explicit MemoryPool(std::shared_ptr<PluggableAllocator> allocator = nullptr);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  c10::MempoolId_t id() const noexcept { return id_; }
  // This object, and each use that lasts, on the device where the object was made.
  int useCount() const;

  // Until end(), allocations of the calling thread on that device come from the pool. Throws if
  // those of any thread do already.
  void begin(DeviceIndex device);
  void end(DeviceIndex device);

 private:
  void hold(DeviceIndex device);

  const c10::MempoolId_t id_;
  const DeviceIndex home_;
  std::mutex mutex_;
  std::vector<DeviceIndex> devices_;  // where this object holds the pool
};

}  // namespace torch_npu
