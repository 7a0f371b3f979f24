// The allocator of device memory: PyTorch's allocator for the npu device.
//
// One DeviceCachingAllocator per device, made at the first allocation there, which also starts the
// runtime. torch.accelerator's memory functions reach it through c10::DeviceAllocator; what PyTorch
// has no interface for (fraction, snapshot, history, private pools) is here.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <utility>
#include <vector>

#include <c10/core/CachingDeviceAllocator.h>

#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

class DeviceCachingAllocator;

class C10_EXPORT CachingAllocator final : public c10::DeviceAllocator {
 public:
  using SegmentInfo = c10::CachingDeviceAllocator::SegmentInfo;
  using TraceEntry = c10::CachingDeviceAllocator::TraceEntry;
  using OutOfMemoryObserver =
      std::function<void(DeviceIndex, size_t requested, size_t total, size_t free)>;

  struct Snapshot {
    std::vector<SegmentInfo> segments;
    // What happened on each device, oldest first, at time_.t_ microseconds since the epoch; empty
    // unless recordHistory() was on.
    std::vector<std::vector<TraceEntry>> device_traces;
  };

  // c10::Allocator and c10::DeviceAllocator
  // --------------------------------------------------------

  // Memory of the current device for the current stream. A size of 0 gives a null pointer.
  c10::DataPtr allocate(size_t size) override;
  bool is_simple_data_ptr(const c10::DataPtr& data_ptr) const override;
  void copy_data(void* destination, const void* source, size_t count) const override;

  bool initialized() override;
  void emptyCache(c10::MempoolId_t pool = {0, 0}) override;
  void recordStream(const c10::DataPtr& data_ptr, c10::Stream stream) override;
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(DeviceIndex device) override;
  void resetAccumulatedStats(DeviceIndex device) override;
  void resetPeakStats(DeviceIndex device) override;
  std::pair<size_t, size_t> getMemoryInfo(DeviceIndex device) override;

  // Beyond PyTorch's interface
  // ---------------------------------------------------------------------

  // Memory without a tensor, for torch.npu.caching_allocator_alloc() and _delete().
  void* allocateRaw(size_t size, DeviceIndex device, c10::StreamId stream);
  void freeRaw(void* pointer);

  // The device allocation that the memory is part of, and its size; for sharing with other
  // processes. Throws for memory that is not this allocator's.
  std::pair<void*, size_t> baseAllocation(const c10::DataPtr& data_ptr) const;

  void setMemoryFraction(double fraction, DeviceIndex device);
  double getMemoryFraction(DeviceIndex device);
  // For all devices, also those that are first used later.
  void setDefaultMemoryFraction(double fraction);

  Snapshot snapshot();
  void recordHistory(bool enabled, c10::CachingDeviceAllocator::CreateContextFn create_context,
                     size_t max_entries, c10::CachingDeviceAllocator::RecordContext when,
                     bool clear_history);
  void attachOutOfMemoryObserver(OutOfMemoryObserver observer);

  // While begun, allocations for streams that the filter accepts come from that pool. The filter
  // is called with the allocator's lock held: it must not allocate or free. Where several accept,
  // the one that was begun last counts.
  void beginAllocateToPool(DeviceIndex device, c10::MempoolId_t pool,
                           std::function<bool(c10::Stream)> filter);
  // The same for all allocations of the calling thread. No capture: the device may be waited for.
  void beginThreadAllocateToPool(DeviceIndex device, c10::MempoolId_t pool);
  void endAllocateToPool(DeviceIndex device, c10::MempoolId_t pool);
  // Holds the pool, which is made if need be, without allocating from it.
  void retainPool(DeviceIndex device, c10::MempoolId_t pool);
  // Undoes one of the functions that begin or retain; at the last, the pool's memory may be given
  // back.
  void releasePool(DeviceIndex device, c10::MempoolId_t pool);
  int getPoolUseCount(DeviceIndex device, c10::MempoolId_t pool);

  // Reads the settings again; called when they have changed.
  void configurationChanged();

  // Called in a forked child, which has no right to its parent's memory: the next allocation there
  // meets the runtime's refusal instead of a cached block.
  void forgetDevices() noexcept;

 private:
  // The device's allocator, started if need be.
  DeviceCachingAllocator& of(DeviceIndex device);
  DeviceCachingAllocator& start(DeviceIndex device);
  // Null for a device that has not been used; throws for one that does not exist.
  DeviceCachingAllocator* existing(DeviceIndex device) const;
  template <class Function>
  void forEach(Function function);

  std::array<std::atomic<DeviceCachingAllocator*>, kMaxDevices> allocators_{};
};

// The one instance; never destroyed.
C10_EXPORT CachingAllocator* cachingAllocator();

}  // namespace torch_npu
