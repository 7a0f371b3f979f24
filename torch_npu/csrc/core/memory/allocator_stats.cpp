#include "torch_npu/csrc/core/memory/allocator_stats.h"

#include <c10/core/AllocatorConfig.h>

namespace torch_npu {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::Stat;
using c10::CachingAllocator::StatArray;

Stat Counter::stat() const noexcept {
  Stat result;
  result.current = current_;
  result.peak = peak_;
  result.allocated = total_ - total_at_reset_;
  result.freed = total_ - current_ - freed_at_reset_;
  return result;
}

void AllocatorStats::addSegment(bool small) noexcept {
  update(small, [](UsageCounters& usage) { usage.segment.increase(1); });
}

void AllocatorStats::removeSegment(bool small) noexcept {
  update(small, [](UsageCounters& usage) { usage.segment.decrease(1); });
}

void AllocatorStats::addReserved(bool small, size_t size, c10::MempoolId_t pool) {
  update(small,
         [=](UsageCounters& usage) { usage.reserved_bytes.increase(static_cast<int64_t>(size)); });
  if (pool != c10::MempoolId_t{0, 0}) {
    StatArray& bytes = private_pool_bytes_[pool];
    bytes[kAggregate].increase(size);
    bytes[small ? kSmall : kLarge].increase(size);
  }
}

void AllocatorStats::removeReserved(bool small, size_t size, c10::MempoolId_t pool) {
  update(small,
         [=](UsageCounters& usage) { usage.reserved_bytes.decrease(static_cast<int64_t>(size)); });
  if (pool != c10::MempoolId_t{0, 0}) {
    StatArray& bytes = private_pool_bytes_[pool];
    bytes[kAggregate].decrease(size);
    bytes[small ? kSmall : kLarge].decrease(size);
  }
}

int64_t AllocatorStats::privatePoolBytes() const {
  int64_t total = 0;
  for (const auto& [pool, bytes] : private_pool_bytes_) {
    total += bytes[kAggregate].current;
  }
  return total;
}

void AllocatorStats::resetPeak() {
  for (UsageCounters& usage : usage_) {
    usage.forEach([](Counter& counter) { counter.resetPeak(); });
  }
  for (auto& [pool, bytes] : private_pool_bytes_) {
    for (Stat& stat : bytes) {
      stat.reset_peak();
    }
  }
  oversize_allocations.resetPeak();
  oversize_segments.resetPeak();
}

void AllocatorStats::resetAccumulated() {
  for (UsageCounters& usage : usage_) {
    usage.forEach([](Counter& counter) { counter.resetAccumulated(); });
  }
  for (auto& [pool, bytes] : private_pool_bytes_) {
    for (Stat& stat : bytes) {
      stat.reset_accumulated();
    }
  }
  oversize_allocations.resetAccumulated();
  oversize_segments.resetAccumulated();
  num_alloc_retries = 0;
  num_ooms = 0;
  num_sync_all_streams = 0;
  num_device_alloc = 0;
  num_device_free = 0;
}

c10::CachingDeviceAllocator::DeviceStats AllocatorStats::deviceStats() const {
  c10::CachingDeviceAllocator::DeviceStats result;
  for (size_t type = 0; type < kTypes; ++type) {
    const UsageCounters& usage = usage_[type];
    result.allocation[type] = usage.allocation.stat();
    result.segment[type] = usage.segment.stat();
    result.active[type] = usage.active.stat();
    result.inactive_split[type] = usage.inactive_split.stat();
    result.allocated_bytes[type] = usage.allocated_bytes.stat();
    result.reserved_bytes[type] = usage.reserved_bytes.stat();
    result.active_bytes[type] = usage.active_bytes.stat();
    result.inactive_split_bytes[type] = usage.inactive_split_bytes.stat();
    result.requested_bytes[type] = usage.requested_bytes.stat();
  }
  result.reserved_bytes_by_private_pools = private_pool_bytes_;
  result.num_alloc_retries = num_alloc_retries;
  result.num_ooms = num_ooms;
  result.oversize_allocations = oversize_allocations.stat();
  result.oversize_segments = oversize_segments.stat();
  result.num_sync_all_streams = num_sync_all_streams;
  result.num_device_alloc = num_device_alloc;
  result.num_device_free = num_device_free;
  result.max_split_size = static_cast<int64_t>(AcceleratorAllocatorConfig::max_split_size());
  return result;
}

}  // namespace torch_npu
