// The caching allocator's own counters, and their conversion to PyTorch's DeviceStats.
//
// PyTorch's Stat counts what was freed; here that follows from the other numbers, so that giving a
// block back costs one subtraction per counter. The owner's lock guards everything.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <c10/core/CachingDeviceAllocator.h>

namespace torch_npu {

// One quantity over time.
class Counter {
 public:
  void increase(int64_t amount) noexcept {
    current_ += amount;
    total_ += amount;
    peak_ = std::max(peak_, current_);
  }
  void decrease(int64_t amount) noexcept { current_ -= amount; }

  int64_t current() const noexcept { return current_; }

  void resetPeak() noexcept { peak_ = current_; }
  void resetAccumulated() noexcept {
    total_at_reset_ = total_;
    freed_at_reset_ = total_ - current_;
  }
  c10::CachingAllocator::Stat stat() const noexcept;

 private:
  int64_t current_ = 0;
  int64_t total_ = 0;
  int64_t peak_ = 0;
  int64_t total_at_reset_ = 0;
  int64_t freed_at_reset_ = 0;
};

// What is tracked for the small pools, for the large pools and for both together.
struct UsageCounters {
  Counter allocation;
  Counter allocated_bytes;
  Counter active;
  Counter active_bytes;
  Counter requested_bytes;
  Counter inactive_split;
  Counter inactive_split_bytes;
  Counter segment;
  Counter reserved_bytes;

  template <class Function>
  void forEach(Function function) {
    for (Counter* counter :
         {&allocation, &allocated_bytes, &active, &active_bytes, &requested_bytes, &inactive_split,
          &inactive_split_bytes, &segment, &reserved_bytes}) {
      function(*counter);
    }
  }
};

class AllocatorStats {
 public:
  using PrivatePoolBytes =
      decltype(c10::CachingDeviceAllocator::DeviceStats::reserved_bytes_by_private_pools);

  // A block goes to the client, or comes back from it.
  void allocate(bool small, size_t size, size_t requested) noexcept {
    update(small, [=](UsageCounters& usage) {
      usage.allocation.increase(1);
      usage.allocated_bytes.increase(static_cast<int64_t>(size));
      usage.active.increase(1);
      usage.active_bytes.increase(static_cast<int64_t>(size));
      usage.requested_bytes.increase(static_cast<int64_t>(requested));
    });
  }
  void free(bool small, size_t size, size_t requested) noexcept {
    update(small, [=](UsageCounters& usage) {
      usage.allocation.decrease(1);
      usage.allocated_bytes.decrease(static_cast<int64_t>(size));
      usage.requested_bytes.decrease(static_cast<int64_t>(requested));
    });
  }
  // The last stream is done with a block that has come back.
  void deactivate(bool small, size_t size) noexcept {
    update(small, [=](UsageCounters& usage) {
      usage.active.decrease(1);
      usage.active_bytes.decrease(static_cast<int64_t>(size));
    });
  }
  // A free block that is part of a larger segment appears, or goes.
  void addInactiveSplit(bool small, size_t size) noexcept {
    update(small, [=](UsageCounters& usage) {
      usage.inactive_split.increase(1);
      usage.inactive_split_bytes.increase(static_cast<int64_t>(size));
    });
  }
  void removeInactiveSplit(bool small, size_t size) noexcept {
    update(small, [=](UsageCounters& usage) {
      usage.inactive_split.decrease(1);
      usage.inactive_split_bytes.decrease(static_cast<int64_t>(size));
    });
  }

  // `pool` is {0, 0} for memory that belongs to no private pool.
  void addSegment(bool small) noexcept;
  void removeSegment(bool small) noexcept;
  void addReserved(bool small, size_t size, c10::MempoolId_t pool);
  void removeReserved(bool small, size_t size, c10::MempoolId_t pool);

  int64_t allocatedBytes() const noexcept { return usage_[kAggregate].allocated_bytes.current(); }
  int64_t reservedBytes() const noexcept { return usage_[kAggregate].reserved_bytes.current(); }
  int64_t privatePoolBytes() const;

  void resetPeak();
  void resetAccumulated();
  c10::CachingDeviceAllocator::DeviceStats deviceStats() const;

  Counter oversize_allocations;
  Counter oversize_segments;
  int64_t num_alloc_retries = 0;
  int64_t num_ooms = 0;
  int64_t num_sync_all_streams = 0;
  int64_t num_device_alloc = 0;
  int64_t num_device_free = 0;

 private:
  static constexpr size_t kAggregate =
      static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  static constexpr size_t kSmall = static_cast<size_t>(c10::CachingAllocator::StatType::SMALL_POOL);
  static constexpr size_t kLarge = static_cast<size_t>(c10::CachingAllocator::StatType::LARGE_POOL);
  static constexpr size_t kTypes = static_cast<size_t>(c10::CachingAllocator::StatType::NUM_TYPES);

  template <class Function>
  void update(bool small, Function function) noexcept {
    function(usage_[kAggregate]);
    function(usage_[small ? kSmall : kLarge]);
  }

  std::array<UsageCounters, kTypes> usage_;
  PrivatePoolBytes private_pool_bytes_;
};

}  // namespace torch_npu
