// The parts that a device's caching allocator is built from: blocks, and the pools they wait in.
//
// See Note [Two levels of free blocks] in block_pool.cpp. Everything here is guarded by the lock of
// the allocator that owns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include <c10/core/AllocatorConfig.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Stream.h>

#include "torch_npu/csrc/core/memory/segment.h"

namespace torch_npu {

class DeviceCachingAllocator;
struct BlockPool;
struct StreamBins;

using c10::CachingAllocator::kMinBlockSize;
using c10::CachingAllocator::kSmallSize;

// A range of a segment. The blocks of a segment cover it without gaps, in order.
struct Block {
  char* address = nullptr;
  size_t size = 0;
  // What the client asked for, before rounding.
  size_t requested_size = 0;

  DeviceCachingAllocator* owner = nullptr;
  // Where the block is parked when it comes back; null if it goes to its pool at once.
  StreamBins* bins = nullptr;
  Block* next_parked = nullptr;
  // Streams other than the block's own that use it while it is allocated; usually null.
  std::unique_ptr<std::vector<c10::Stream>> stream_uses;

  Block* previous = nullptr;
  Block* next = nullptr;
  BlockPool* pool = nullptr;
  Segment* segment = nullptr;
  c10::StreamId stream = 0;
  // Events that other streams have still to reach before the block is free.
  int32_t pending_events = 0;
  // Who has the block besides its client; see DeviceCachingAllocator::retain().
  int32_t retained = 0;
  // The pool's search count when the block became free: its age for garbage collection.
  uint64_t free_since = 0;
  c10::DeviceIndex device = 0;
  bool allocated = false;
  bool expandable = false;
  // False for a range of an expandable segment without memory behind it.
  bool mapped = true;
  bool parked = false;
  // Taken out of its pool, to be given back to the device.
  bool detached = false;
  std::shared_ptr<c10::GatheredContext> context;

  bool isSplit() const noexcept { return previous != nullptr || next != nullptr; }
  // Whether it can be merged with a neighbour.
  bool isFree() const noexcept {
    return !allocated && pending_events == 0 && mapped && !parked && !detached;
  }
  // A free part of an expandable segment can be given back by itself, so it does not count.
  bool countsAsInactiveSplit() const noexcept { return isSplit() && !expandable; }
};

struct BlockOrder {
  bool operator()(const Block* a, const Block* b) const noexcept {
    if (a->stream != b->stream) {
      return a->stream < b->stream;
    }
    if (a->size != b->size) {
      return a->size < b->size;
    }
    return reinterpret_cast<uintptr_t>(a->address) < reinterpret_cast<uintptr_t>(b->address);
  }
};

using BlockSet = std::set<Block*, BlockOrder>;

// Free blocks of all streams, merged as far as they can be, best fit first.
struct BlockPool {
  BlockPool(bool is_small, c10::MempoolId_t pool_id) : small(is_small), id(pool_id) {}

  // The smallest block of `stream` with at least `size` bytes, still in the pool; null if there is
  // none that the configuration allows to be used for that size.
  Block* bestFit(c10::StreamId stream, size_t size);

  BlockSet free;
  // Ranges of expandable segments without memory behind them.
  BlockSet unmapped;
  const bool small;
  // {0, 0} for the default pools.
  const c10::MempoolId_t id;
  uint64_t searches = 0;
};

// The parked blocks of one stream in the default small pool, by exact size.
struct StreamBins {
  static constexpr size_t kBins = kSmallSize / kMinBlockSize + 1;

  explicit StreamBins(c10::StreamId stream_id) : stream(stream_id) {}

  static size_t binOf(size_t size) noexcept { return (size + kMinBlockSize - 1) / kMinBlockSize; }

  Block* pop(size_t bin) noexcept {
    Block* block = heads[bin];
    if (block != nullptr) {
      heads[bin] = block->next_parked;
      block->parked = false;
      --count;
    }
    return block;
  }
  void push(Block* block) noexcept {
    Block*& head = heads[block->size / kMinBlockSize];
    block->next_parked = head;
    block->parked = true;
    head = block;
    ++count;
  }

  const c10::StreamId stream;
  size_t count = 0;
  std::array<Block*, kBins> heads{};
};

// Memory that only chosen allocations use: a capture's, so that a graph's addresses stay its own,
// or those of a memory pool of the user's.
struct PrivatePool {
  explicit PrivatePool(c10::MempoolId_t pool_id)
      : id(pool_id), small(true, pool_id), large(false, pool_id) {}

  const c10::MempoolId_t id;
  // Holders of the pool: graphs, captures, users; at 0 its segments may be given back.
  int use_count = 0;
  size_t segments = 0;
  // Where the segments come from; null for the device's own memory.
  std::shared_ptr<PluggableAllocator> allocator;
  BlockPool small;
  BlockPool large;
};

// Sizes, as PyTorch's other caching allocators choose them.
// ----------------------------------------

// What a request is rounded to.
size_t roundedSize(size_t size);
// How much a new segment for a (rounded) request has.
size_t segmentSize(size_t size);
// Whether the rest of `block` after `size` bytes becomes a block of its own.
bool shouldSplit(const Block& block, size_t size);
// The unit in which an expandable segment grows.
size_t granuleSize(bool small);

}  // namespace torch_npu
