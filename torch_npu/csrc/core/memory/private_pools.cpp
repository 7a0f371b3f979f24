// Pools of memory that belong to captured graphs.
#include <algorithm>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/core/memory/device_caching_allocator.h"

namespace torch_npu {

BlockPool& DeviceCachingAllocator::poolFor(size_t size, c10::StreamId stream) {
  for (const Capture& capture : captures_) {
    const c10::Stream wrapped(c10::Stream::UNSAFE,
                              c10::Device(c10::DeviceType::PrivateUse1, device_), stream);
    if (capture.filter(wrapped)) {
      PrivatePool* pool = privatePool(capture.pool);
      return size <= kSmallSize ? pool->small : pool->large;
    }
  }
  return size <= kSmallSize ? small_ : large_;
}

PrivatePool* DeviceCachingAllocator::privatePool(c10::MempoolId_t id) const {
  const auto found = private_pools_.find(id);
  return found != private_pools_.end() ? found->second.get() : nullptr;
}

void DeviceCachingAllocator::erasePoolIfUnused(c10::MempoolId_t id) {
  const PrivatePool* pool = privatePool(id);
  if (pool != nullptr && pool->use_count == 0 && pool->segments == 0) {
    private_pools_.erase(id);
  }
}

void DeviceCachingAllocator::beginAllocateToPool(c10::MempoolId_t pool, StreamFilter filter) {
  TORCH_CHECK_VALUE((pool != c10::MempoolId_t{0, 0}), "{0, 0} names the default memory pool");
  Lock lock(lock_);
  for (const Capture& capture : captures_) {
    TORCH_CHECK(capture.pool != pool, "allocations go to memory pool (", pool.first, ", ",
                pool.second, ") already");
  }
  if (PrivatePool* existing = privatePool(pool)) {
    ++existing->use_count;
  } else {
    private_pools_.emplace(pool, std::make_unique<PrivatePool>(pool));
  }
  captures_.push_back({pool, std::move(filter)});
  updateFastPath();
}

void DeviceCachingAllocator::endAllocateToPool(c10::MempoolId_t pool) {
  Lock lock(lock_);
  const auto found = std::find_if(captures_.begin(), captures_.end(),
                                  [&](const Capture& capture) { return capture.pool == pool; });
  TORCH_CHECK(found != captures_.end(), "allocations do not go to memory pool (", pool.first, ", ",
              pool.second, ")");
  captures_.erase(found);
  updateFastPath();
  if (!captures_.empty()) {
    return;
  }
  const std::vector<Block*> deferred = std::move(deferred_until_capture_ends_);
  deferred_until_capture_ends_.clear();
  for (Block* block : deferred) {
    awaitStreams(lock, block);
  }
}

void DeviceCachingAllocator::releasePool(c10::MempoolId_t pool) {
  Lock lock(lock_);
  PrivatePool* found = privatePool(pool);
  TORCH_CHECK(found != nullptr && found->use_count > 0, "memory pool (", pool.first, ", ",
              pool.second, ") is not in use");
  --found->use_count;
  erasePoolIfUnused(pool);
}

int DeviceCachingAllocator::poolUseCount(c10::MempoolId_t pool) const {
  Lock lock(lock_);
  const PrivatePool* found = privatePool(pool);
  return found != nullptr ? found->use_count : 0;
}

}  // namespace torch_npu
