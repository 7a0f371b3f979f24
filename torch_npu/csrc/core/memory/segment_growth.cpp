// How the allocator gets memory from the device.
#include <algorithm>

#include <c10/util/Exception.h>
#include <c10/util/ScopeExit.h>

#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/memory/pluggable_allocator.h"

namespace torch_npu {

namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using Action = MemoryTrace::Entry::Action;

bool useExpandableSegments() {
  if (!AcceleratorAllocatorConfig::use_expandable_segments()) {
    return false;
  }
  static const bool supported = Segment::expandableSupported();
  if (!supported) {
    TORCH_WARN_ONCE(
        "expandable_segments:True has no effect: this CANN lacks the virtual memory "
        "functions (aclrtReserveMemAddress and its family)");
  }
  return supported;
}

// The least capacity that is worth reserving addresses for.
constexpr size_t kLeastCapacity = size_t{1} << 30;

}  // namespace

bool DeviceCachingAllocator::withinLimit(size_t size) const {
  const auto reserved = static_cast<size_t>(stats_.reservedBytes());
  return reserved <= memory_limit_ && size <= memory_limit_ - reserved;
}

Block* DeviceCachingAllocator::growPool(const Request& request) {
  const PrivatePool* pool = privatePool(request.pool->id);
  if (pool != nullptr && pool->allocator != nullptr) {
    return addSegment(request);
  }
  return useExpandableSegments() ? growExpandable(request) : addSegment(request);
}

Block* DeviceCachingAllocator::addSegment(const Request& request) {
  const size_t size = segmentSize(request.size);
  if (!withinLimit(size)) {
    return nullptr;
  }
  const PrivatePool* pool = privatePool(request.pool->id);
  std::unique_ptr<Segment> segment;
  if (pool != nullptr && pool->allocator != nullptr) {
    // The user's function may call Python, where memory may be freed.
    std::shared_ptr<PluggableAllocator> source = pool->allocator;
    lock_.unlock();
    const auto relock = c10::make_scope_exit([this] { lock_.lock(); });
    segment = Segment::allocateFrom(std::move(source), device_, size, request.stream);
  } else {
    segment = Segment::allocate(device_, size);
  }
  if (segment == nullptr) {
    return nullptr;
  }
  ++stats_.num_device_alloc;
  stats_.addReserved(request.pool->small, size, request.pool->id);
  if (size >= AcceleratorAllocatorConfig::max_split_size()) {
    stats_.oversize_segments.increase(1);
  }
  trace_.addSegmentEvent(Action::SEGMENT_ALLOC, device_, segment->base(), size, request.stream,
                         request.pool->id);
  return adoptSegment(std::move(segment), request);
}

Block* DeviceCachingAllocator::adoptSegment(std::unique_ptr<Segment> segment,
                                            const Request& request) {
  auto* block = new Block;
  block->address = segment->base();
  block->size = segment->size();
  block->owner = this;
  block->device = device_;
  block->stream = request.stream;
  block->pool = request.pool;
  block->segment = segment.get();
  block->expandable = segment->expandable();
  segment->first_block = block;
  segment->pool = request.pool;
  segment->stream = request.stream;
  stats_.addSegment(request.pool->small);
  if (PrivatePool* pool = privatePool(request.pool->id)) {
    ++pool->segments;
  }
  Segment* key = segment.get();
  segments_.emplace(key, std::move(segment));
  return block;
}

Block* DeviceCachingAllocator::growExpandable(const Request& request) {
  Block* start = growthStart(request);
  if (start == nullptr) {
    start = addExpandableSegment(request);
  }
  if (start == nullptr) {
    // No addresses are left to reserve.
    return addSegment(request);
  }
  Segment* segment = start->segment;
  Block* block = extendTo(start, request);
  if (block == nullptr && segment->mappedBytes() == 0) {
    request.pool->unmapped.erase(segment->first_block);
    destroySegment(segment);
  }
  return block;
}

// The first of a run of free and unbacked blocks that is long enough; null if there is none.
Block* DeviceCachingAllocator::growthStart(const Request& request) {
  Block key;
  key.stream = request.stream;
  BlockSet& unmapped = request.pool->unmapped;
  for (auto it = unmapped.lower_bound(&key); it != unmapped.end(); ++it) {
    if ((*it)->stream != request.stream) {
      break;
    }
    Block* start = *it;
    if (start->previous != nullptr && start->previous->isFree()) {
      start = start->previous;
    }
    size_t available = 0;
    for (Block* block = start; block != nullptr && (block->isFree() || !block->mapped);
         block = block->next) {
      available += block->size;
    }
    if (available >= request.size) {
      return start;
    }
  }
  return nullptr;
}

Block* DeviceCachingAllocator::addExpandableSegment(const Request& request) {
  const size_t granule = granuleSize(request.pool->small);
  // An eighth more than there is memory, for what fragments of it cannot be used.
  const size_t wanted = totalMemory() + totalMemory() / 8;
  for (size_t capacity = wanted; capacity >= std::max(request.size, kLeastCapacity);
       capacity /= 2) {
    if (std::unique_ptr<Segment> segment = Segment::reserve(device_, capacity, granule)) {
      Block* block = adoptSegment(std::move(segment), request);
      block->mapped = false;
      request.pool->unmapped.insert(block);
      return block;
    }
  }
  return nullptr;
}

// Backs and joins blocks from `start` on until they have the requested size. The result is in no
// pool. Null, with what was backed left in the pool, if the device has no memory left.
Block* DeviceCachingAllocator::extendTo(Block* start, const Request& request) {
  Block* block = start;
  if (start->mapped) {
    removeFree(start);
  } else {
    // An empty block in front, which grows.
    request.pool->unmapped.erase(start);
    Block* rest = splitFront(start, 0);
    request.pool->unmapped.insert(rest);
    block->mapped = true;
  }
  while (block->size < request.size) {
    if (block->next->mapped) {
      removeFree(block->next);
      absorbNext(block);
    } else if (!mapNext(block, request.size - block->size)) {
      if (block->size == 0) {
        request.pool->unmapped.erase(block->next);
        absorbNext(block);
        block->mapped = false;
        request.pool->unmapped.insert(block);
      } else {
        mergeAndInsert(block);
      }
      return nullptr;
    }
  }
  if (block->next != nullptr && block->next->isFree()) {
    removeFree(block->next);
    absorbNext(block);
  }
  return block;
}

// Moves at least `size` bytes, or all there are, from the unbacked block after `block` into it.
bool DeviceCachingAllocator::mapNext(Block* block, size_t size) {
  Block* next = block->next;
  Segment* segment = block->segment;
  const size_t granule = segment->granule();
  const size_t amount = std::min((size + granule - 1) / granule * granule, next->size);
  if (!withinLimit(amount) || !segment->map(segment->offsetOf(next->address), amount)) {
    return false;
  }
  ++stats_.num_device_alloc;
  stats_.addReserved(block->pool->small, amount, block->pool->id);
  trace_.addSegmentEvent(Action::SEGMENT_MAP, device_, next->address, amount, block->stream,
                         block->pool->id);
  block->pool->unmapped.erase(next);
  next->address += amount;
  next->size -= amount;
  block->size += amount;
  if (next->size == 0) {
    absorbNext(block);
  } else {
    block->pool->unmapped.insert(next);
  }
  return true;
}

// Gives a segment back whose only block is in no pool.
void DeviceCachingAllocator::destroySegment(Segment* segment) {
  BlockPool* pool = segment->pool;
  const c10::MempoolId_t id = pool->id;
  if (!segment->expandable()) {
    ++stats_.num_device_free;
    stats_.removeReserved(pool->small, segment->size(), id);
    if (segment->size() >= AcceleratorAllocatorConfig::max_split_size()) {
      stats_.oversize_segments.decrease(1);
    }
    trace_.addSegmentEvent(Action::SEGMENT_FREE, device_, segment->base(), segment->size(),
                           segment->stream, id);
  }
  stats_.removeSegment(pool->small);
  delete segment->first_block;
  auto owned = segments_.extract(segment);
  if (PrivatePool* owner = privatePool(id)) {
    --owner->segments;
  }
  if (segment->foreign()) {
    lock_.unlock();
    owned.mapped().reset();
    lock_.lock();
  }
}

}  // namespace torch_npu
