#include "torch_npu/csrc/core/memory/device_caching_allocator.h"

#include <c10/util/Exception.h>

namespace torch_npu {

namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingDeviceAllocator::RecordContext;
using Action = MemoryTrace::Entry::Action;

// More than any device has; keeps the rounding of sizes from wrapping round.
constexpr size_t kLargestRequest = size_t{1} << 60;

bool isOversize(size_t size) { return size >= AcceleratorAllocatorConfig::max_split_size(); }

// Whether small sizes are rounded to something else than a multiple of the smallest block.
bool roundsToPowersOfTwo() {
  for (const size_t divisions : AcceleratorAllocatorConfig::roundup_power2_divisions()) {
    if (divisions > 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

DeviceCachingAllocator::DeviceCachingAllocator(c10::DeviceIndex device) : device_(device) {
  recent_bins_ = binsOf(0);
  updateFastPath();
}

DeviceCachingAllocator::~DeviceCachingAllocator() {
  for (auto& [key, segment] : segments_) {
    for (Block* block = segment->first_block; block != nullptr;) {
      delete std::exchange(block, block->next);
    }
  }
}

void DeviceCachingAllocator::updateFastPath() {
  fast_ =
      routes_.empty() && pending_event_count_ == 0 && !trace_.recording() && !roundsToPowersOfTwo();
}

Block* DeviceCachingAllocator::allocateSlow(size_t requested, c10::StreamId stream) {
  TORCH_CHECK_WITH(OutOfMemoryError, requested < kLargestRequest,
                   "NPU out of memory. Tried to allocate more than 1 EiB.");
  MemoryTrace::Context context;
  if (trace_.recording()) {
    context = trace_.gather(RecordContext::STATE);
  }
  Lock lock(lock_);
  processEvents();
  const size_t size = roundedSize(requested);
  Request request{requested, size, stream, &poolFor(size, stream), std::move(context)};
  if (request.pool == &small_) {
    recent_bins_ = binsOf(stream);
    if (Block* block = recent_bins_->pop(StreamBins::binOf(size))) {
      takeParked(block, requested);
      block->context = std::move(request.context);
      trace_.add(Action::ALLOC, *block, requested, block->context);
      return block;
    }
  }
  Block* block = findBlock(lock, request);
  handOut(block, request);
  return block;
}

Block* DeviceCachingAllocator::takeCached(Request& request) {
  Block* block = request.pool->bestFit(request.stream, request.size);
  if (block == nullptr && request.pool == &small_) {
    StreamBins* bins = binsOf(request.stream);
    if (bins->count != 0) {
      unpark(*bins);
      block = request.pool->bestFit(request.stream, request.size);
    }
  }
  if (block != nullptr) {
    removeFree(block);
  }
  return block;
}

Block* DeviceCachingAllocator::findBlock(Lock& lock, Request& request) {
  if (Block* block = takeCached(request)) {
    return block;
  }
  if (AcceleratorAllocatorConfig::garbage_collection_threshold() > 0) {
    collectGarbage(lock);
  }
  if (Block* block = growPool(request)) {
    return block;
  }
  if (releaseOversize(lock, request)) {
    if (Block* block = growPool(request)) {
      return block;
    }
  }
  ++stats_.num_alloc_retries;
  waitForEvents(lock);
  // Memory that another stream has just finished with may do as it is.
  if (Block* block = takeCached(request)) {
    return block;
  }
  releaseCached(lock, [](const Block&) { return true; });
  if (Block* block = takeCached(request)) {
    return block;
  }
  if (Block* block = growPool(request)) {
    return block;
  }
  throwOutOfMemory(lock, request);
}

void DeviceCachingAllocator::handOut(Block* block, Request& request) {
  if (shouldSplit(*block, request.size)) {
    insertFree(splitFront(block, request.size));
  }
  block->allocated = true;
  block->requested_size = request.requested;
  block->bins = block->pool == &small_ ? binsOf(block->stream) : nullptr;
  block->context = std::move(request.context);
  stats_.allocate(block->pool->small, block->size, request.requested);
  if (isOversize(block->size)) {
    stats_.oversize_allocations.increase(1);
  }
  trace_.add(Action::ALLOC, *block, request.requested, block->context);
}

void DeviceCachingAllocator::retain(Block* block) {
  Lock lock(lock_);
  ++block->retained;
  block->bins = nullptr;  // so that free() looks at it
}

void DeviceCachingAllocator::freeSlow(Block* block) noexcept {
  try {
    MemoryTrace::Context context;
    if (trace_.recording()) {
      context = trace_.gather(RecordContext::ALL);
    }
    Lock lock(lock_);
    if (block->retained > 0) {
      --block->retained;
      return;
    }
    trace_.add(Action::FREE_REQUESTED, *block, block->requested_size,
               context != nullptr ? context : block->context);
    block->allocated = false;
    stats_.free(block->pool->small, block->size, block->requested_size);
    if (isOversize(block->size)) {
      stats_.oversize_allocations.decrease(1);
    }
    if (block->stream_uses != nullptr) {
      awaitStreams(lock, block);
    } else {
      makeAvailable(block);
    }
  } catch (const std::exception& error) {
    TORCH_WARN("memory of npu:", static_cast<int>(device_),
               " could not be taken back and stays reserved: ", error.what());
  } catch (...) {
    TORCH_WARN("memory of npu:", static_cast<int>(device_),
               " could not be taken back and stays reserved");
  }
}

void DeviceCachingAllocator::setMemoryFraction(double fraction) {
  TORCH_CHECK_VALUE(fraction >= 0.0 && fraction <= 1.0, "invalid fraction: ", fraction,
                    ". Expected a value between 0 and 1");
  const size_t total = queryDeviceMemory(device_).total;
  Lock lock(lock_);
  total_memory_ = total;
  memory_fraction_ = fraction;
  memory_limit_ =
      fraction < 1.0 ? static_cast<size_t>(fraction * static_cast<double>(total)) : SIZE_MAX;
}

double DeviceCachingAllocator::memoryFraction() const {
  Lock lock(lock_);
  return memory_fraction_;
}

c10::CachingDeviceAllocator::DeviceStats DeviceCachingAllocator::stats() const {
  Lock lock(lock_);
  return stats_.deviceStats();
}

void DeviceCachingAllocator::resetPeakStats() {
  Lock lock(lock_);
  stats_.resetPeak();
}

void DeviceCachingAllocator::resetAccumulatedStats() {
  Lock lock(lock_);
  stats_.resetAccumulated();
}

std::pair<size_t, size_t> DeviceCachingAllocator::usage() const {
  Lock lock(lock_);
  return {static_cast<size_t>(stats_.allocatedBytes()),
          static_cast<size_t>(stats_.reservedBytes())};
}

void DeviceCachingAllocator::configurationChanged() {
  Lock lock(lock_);
  updateFastPath();
}

void DeviceCachingAllocator::configureTrace(const MemoryTrace::Settings& settings,
                                            bool clear_history) {
  Lock lock(lock_);
  trace_.configure(settings, clear_history);
  updateFastPath();
}

void DeviceCachingAllocator::addOutOfMemoryObserver(OutOfMemoryObserver observer) {
  Lock lock(lock_);
  observers_.push_back(std::move(observer));
}

}  // namespace torch_npu
