// The caching allocator of one device.
//
// Memory belongs to the stream that it was allocated for: what comes back can be used again at
// once on that stream, because its tasks run in order. Use on another stream is announced with
// recordStream(); such memory is free when events on those streams have passed.
//
// Thread-safe. The lock is never held while waiting for the device, because a task of the device
// may end in a host function that frees memory.
//
// Sources: device_caching_allocator.cpp (allocate, free), block_merging.cpp (split, merge, park),
// segment_growth.cpp (memory from the device), cache_release.cpp (memory back to it, and running
// out of it), stream_events.cpp (use on other streams), private_pools.cpp, memory_snapshot.cpp.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/core/memory/allocator_stats.h"
#include "torch_npu/csrc/core/memory/block.h"
#include "torch_npu/csrc/core/memory/light_lock.h"
#include "torch_npu/csrc/core/memory/memory_trace.h"

namespace torch_npu {

class DeviceCachingAllocator {
 public:
  using StreamFilter = std::function<bool(c10::Stream)>;
  using OutOfMemoryObserver =
      std::function<void(c10::DeviceIndex, size_t requested, size_t total, size_t free)>;

  explicit DeviceCachingAllocator(c10::DeviceIndex device);
  // Gives all memory back, whether or not somebody still has it.
  ~DeviceCachingAllocator();

  // A block of at least `requested` (more than 0) bytes for use on `stream`. Throws
  // c10::OutOfMemoryError.
  Block* allocate(size_t requested, c10::StreamId stream) {
    if (C10_LIKELY(requested <= kSmallSize)) {
      const size_t bin = StreamBins::binOf(requested);
      std::lock_guard<LightLock> guard(lock_);
      StreamBins* bins = recent_bins_;
      if (C10_LIKELY(fast_ && bins->stream == stream)) {
        if (Block* block = bins->pop(bin); C10_LIKELY(block != nullptr)) {
          takeParked(block, requested);
          return block;
        }
      }
    }
    return allocateSlow(requested, stream);
  }

  // Takes a block back. Never throws: memory whose state the device cannot tell stays in use.
  void free(Block* block) noexcept {
    {
      std::lock_guard<LightLock> guard(lock_);
      if (C10_LIKELY(fast_ && block->bins != nullptr && block->stream_uses == nullptr)) {
        returnParked(block);
        return;
      }
    }
    freeSlow(block);
  }

  // Makes one more free() necessary, for another process that uses the block.
  void retain(Block* block);

  void recordStream(Block* block, c10::Stream stream);

  // Gives all free segments back to the device; a pool other than {0, 0} restricts that to it.
  void emptyCache(c10::MempoolId_t pool = {0, 0});

  // Limits what this process may reserve to a fraction of the device's memory.
  void setMemoryFraction(double fraction);
  double memoryFraction() const;

  // While begun, requests for streams that the filter accepts are served from that private pool, of
  // several the one that was begun last. The pool lives until releasePool() was called as often as
  // the functions that begin and retain. beginAllocateToPool() is a capture's: until its end the
  // device is not waited for. The other is for all requests of the calling thread.
  void beginAllocateToPool(c10::MempoolId_t pool, StreamFilter filter);
  void beginThreadAllocateToPool(c10::MempoolId_t pool);
  void retainPool(c10::MempoolId_t pool);
  void endAllocateToPool(c10::MempoolId_t pool);
  void releasePool(c10::MempoolId_t pool);
  int poolUseCount(c10::MempoolId_t pool) const;

  c10::CachingDeviceAllocator::DeviceStats stats() const;
  void resetPeakStats();
  void resetAccumulatedStats();

  std::vector<c10::CachingDeviceAllocator::SegmentInfo> snapshot() const;
  std::vector<MemoryTrace::Entry> trace() const;
  void configureTrace(const MemoryTrace::Settings& settings, bool clear_history);

  void addOutOfMemoryObserver(OutOfMemoryObserver observer);
  // To be called when the allocator's configuration has changed.
  void configurationChanged();

  // Allocated and reserved bytes, for the profiler.
  std::pair<size_t, size_t> usage() const;

 private:
  using Lock = std::unique_lock<LightLock>;
  struct Request {
    size_t requested;
    // Rounded.
    size_t size;
    c10::StreamId stream;
    BlockPool* pool;
    MemoryTrace::Context context;
  };
  struct PendingEvent {
    acl::UniqueEvent event;
    Block* block;
  };
  // Requests that a private pool serves.
  struct Route {
    c10::MempoolId_t pool;
    StreamFilter filter;
    bool captures;
  };
  using BlockFilter = std::function<bool(const Block&)>;

  // device_caching_allocator.cpp
  Block* allocateSlow(size_t requested, c10::StreamId stream);
  void freeSlow(Block* block) noexcept;
  Block* takeCached(Request& request);
  Block* findBlock(Lock& lock, Request& request);
  void handOut(Block* block, Request& request);
  void updateFastPath();

  // block_merging.cpp
  StreamBins* binsOf(c10::StreamId stream);
  void insertFree(Block* block);
  void removeFree(Block* block);
  void makeAvailable(Block* block);
  void mergeAndInsert(Block* block);
  void absorbNext(Block* block);
  Block* splitFront(Block* block, size_t size);
  void unpark(StreamBins& bins);
  void unparkAll();

  // segment_growth.cpp
  Block* growPool(const Request& request);
  Block* addSegment(const Request& request);
  Block* adoptSegment(std::unique_ptr<Segment> segment, const Request& request);
  Block* growExpandable(const Request& request);
  Block* growthStart(const Request& request);
  Block* addExpandableSegment(const Request& request);
  Block* extendTo(Block* start, const Request& request);
  bool mapNext(Block* block, size_t size);
  bool withinLimit(size_t size) const;
  void destroySegment(Segment* segment);

  // cache_release.cpp
  bool releaseCached(Lock& lock, const BlockFilter& wanted);
  std::vector<Block*> detachReleasable(const BlockFilter& wanted);
  void giveBack(Block* block);
  void unmapFree(Block* block);
  void collectGarbage(Lock& lock);
  bool releaseOversize(Lock& lock, const Request& request);
  size_t totalMemory();
  [[noreturn]] void throwOutOfMemory(Lock& lock, const Request& request);

  // stream_events.cpp
  void awaitStreams(Lock& lock, Block* block);
  void processEvents();
  void waitForEvents(Lock& lock);
  void eventPassed(PendingEvent& pending);

  // private_pools.cpp
  BlockPool& poolFor(size_t size, c10::StreamId stream);
  PrivatePool* privatePool(c10::MempoolId_t id) const;
  void erasePoolIfUnused(c10::MempoolId_t id);
  void addRoute(Route route);
  void holdPool(c10::MempoolId_t id);
  bool isCapturing() const noexcept;

  void takeParked(Block* block, size_t requested) noexcept {
    block->allocated = true;
    block->requested_size = requested;
    if (block->countsAsInactiveSplit()) {
      stats_.removeInactiveSplit(true, block->size);
    }
    stats_.allocate(true, block->size, requested);
  }

  void returnParked(Block* block) noexcept {
    block->allocated = false;
    block->bins->push(block);
    stats_.free(true, block->size, block->requested_size);
    stats_.deactivate(true, block->size);
    if (block->countsAsInactiveSplit()) {
      stats_.addInactiveSplit(true, block->size);
    }
  }

  const c10::DeviceIndex device_;
  mutable LightLock lock_;
  // Whether allocate() and free() may use the bins without looking at anything else: nothing is
  // captured, traced or waited for, and sizes are rounded in the plain way.
  bool fast_ = true;
  // The bins of the stream that was served last; never null once constructed.
  StreamBins* recent_bins_ = nullptr;
  AllocatorStats stats_;

  std::unordered_map<c10::StreamId, std::unique_ptr<StreamBins>> bins_;
  BlockPool small_{true, {0, 0}};
  BlockPool large_{false, {0, 0}};
  std::unordered_map<Segment*, std::unique_ptr<Segment>> segments_;

  std::unordered_map<c10::StreamId, std::deque<PendingEvent>> pending_events_;
  size_t pending_event_count_ = 0;
  std::vector<acl::UniqueEvent> spare_events_;

  std::unordered_map<c10::MempoolId_t, std::unique_ptr<PrivatePool>, c10::MempoolIdHash>
      private_pools_;
  std::vector<Route> routes_;
  // Came back during a capture while other streams used them: events cannot be recorded then.
  std::vector<Block*> deferred_until_capture_ends_;

  double memory_fraction_ = 1.0;
  size_t memory_limit_ = SIZE_MAX;
  size_t total_memory_ = 0;
  MemoryTrace trace_;
  std::vector<OutOfMemoryObserver> observers_;
};

}  // namespace torch_npu
