#include "torch_npu/csrc/core/memory_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/memory/pluggable_allocator.h"

namespace torch_npu {

namespace {

// As in PyTorch's other allocators, the first number is 0 for a user's pool and the second is 0
// for a graph's.
c10::MempoolId_t nextId() {
  static std::atomic<uint64_t> next{1};
  return {0, next.fetch_add(1)};
}

}  // namespace

MemoryPool::MemoryPool(std::shared_ptr<PluggableAllocator> allocator)
    : id_(nextId()), home_(currentDevice()) {
  setPoolAllocator(id_, std::move(allocator));
  hold(home_);
}

MemoryPool::~MemoryPool() {
  setPoolAllocator(id_, nullptr);
  if (acl::handlesAbandoned()) {
    return;
  }
  // A destructor must not throw, and the device may have failed.
  try {
    for (const DeviceIndex device : devices_) {
      cachingAllocator()->releasePool(device, id_);
    }
    cachingAllocator()->emptyCache(id_);
  } catch (const std::exception& error) {
    TORCH_WARN("the memory of pool (", id_.first, ", ", id_.second,
               ") is not given back now: ", error.what());
  }
}

int MemoryPool::useCount() const { return cachingAllocator()->getPoolUseCount(home_, id_); }

void MemoryPool::hold(DeviceIndex device) {
  const std::lock_guard lock(mutex_);
  if (std::find(devices_.begin(), devices_.end(), device) != devices_.end()) {
    return;
  }
  cachingAllocator()->retainPool(device, id_);
  devices_.push_back(device);
}

void MemoryPool::begin(DeviceIndex device) {
  hold(device);
  cachingAllocator()->beginThreadAllocateToPool(device, id_);
}

void MemoryPool::end(DeviceIndex device) {
  cachingAllocator()->endAllocateToPool(device, id_);
  cachingAllocator()->releasePool(device, id_);
}

}  // namespace torch_npu
