// Pools of memory that belong to captured graphs or to the user.
#include <algorithm>
#include <thread>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/memory/pluggable_allocator.h"

namespace torch_npu {

BlockPool& DeviceCachingAllocator::poolFor(size_t size, c10::StreamId stream) {
  for (auto route = routes_.rbegin(); route != routes_.rend(); ++route) {
    const c10::Stream wrapped(c10::Stream::UNSAFE,
                              c10::Device(c10::DeviceType::PrivateUse1, device_), stream);
    if (route->filter(wrapped)) {
      PrivatePool* pool = privatePool(route->pool);
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

void DeviceCachingAllocator::holdPool(c10::MempoolId_t id) {
  TORCH_CHECK_VALUE((id != c10::MempoolId_t{0, 0}), "{0, 0} names the default memory pool");
  std::unique_ptr<PrivatePool>& pool = private_pools_[id];
  if (pool == nullptr) {
    pool = std::make_unique<PrivatePool>(id);
    pool->allocator = poolAllocator(id);
  }
  ++pool->use_count;
}

bool DeviceCachingAllocator::isCapturing() const noexcept {
  return std::any_of(routes_.begin(), routes_.end(),
                     [](const Route& route) { return route.captures; });
}

void DeviceCachingAllocator::addRoute(Route route) {
  Lock lock(lock_);
  for (const Route& other : routes_) {
    TORCH_CHECK(other.pool != route.pool, "allocations go to memory pool (", route.pool.first, ", ",
                route.pool.second, ") already");
  }
  holdPool(route.pool);
  routes_.push_back(std::move(route));
  updateFastPath();
}

void DeviceCachingAllocator::beginAllocateToPool(c10::MempoolId_t pool, StreamFilter filter) {
  addRoute({pool, std::move(filter), true});
}

void DeviceCachingAllocator::beginThreadAllocateToPool(c10::MempoolId_t pool) {
  const auto thread = std::this_thread::get_id();
  addRoute({pool, [thread](c10::Stream) { return std::this_thread::get_id() == thread; }, false});
}

void DeviceCachingAllocator::retainPool(c10::MempoolId_t pool) {
  Lock lock(lock_);
  holdPool(pool);
}

void DeviceCachingAllocator::endAllocateToPool(c10::MempoolId_t pool) {
  Lock lock(lock_);
  const auto found = std::find_if(routes_.begin(), routes_.end(),
                                  [&](const Route& route) { return route.pool == pool; });
  TORCH_CHECK(found != routes_.end(), "allocations do not go to memory pool (", pool.first, ", ",
              pool.second, ")");
  routes_.erase(found);
  updateFastPath();
  if (isCapturing()) {
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
