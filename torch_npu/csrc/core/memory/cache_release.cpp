// How the allocator gives memory back to the device, and what it says when there is none.
#include <algorithm>
#include <exception>
#include <limits>
#include <unordered_set>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::format_size;
using Action = MemoryTrace::Entry::Action;

// The whole granules inside a free block of an expandable segment, as offsets in the segment.
std::pair<size_t, size_t> wholeGranules(const Block& block) {
  const size_t granule = block.segment->granule();
  const size_t begin = block.segment->offsetOf(block.address);
  const size_t first = (begin + granule - 1) / granule * granule;
  const size_t last = (begin + block.size) / granule * granule;
  return {first, std::max(first, last)};
}

// Whether giving the free block back gives the device memory.
bool isReleasable(const Block& block) {
  if (!block.expandable) {
    return !block.isSplit();
  }
  const auto [first, last] = wholeGranules(block);
  return first < last;
}

}  // namespace

void DeviceCachingAllocator::emptyCache(c10::MempoolId_t pool) {
  Lock lock(lock_);
  if (isCapturing()) {
    TORCH_WARN("the memory cache of npu:", static_cast<int>(device_),
               " is not emptied while a graph is captured: waiting for the device would break it");
    return;
  }
  waitForEvents(lock);
  const bool all = pool == c10::MempoolId_t{0, 0};
  releaseCached(lock, [=](const Block& block) { return all || block.pool->id == pool; });
}

// Gives back what `wanted` accepts; false if that was nothing. The lock is open while the device
// finishes with the memory; meanwhile the blocks are in no pool.
bool DeviceCachingAllocator::releaseCached(Lock& lock, const BlockFilter& wanted) {
  if (isCapturing()) {
    return false;
  }
  unparkAll();
  const std::vector<Block*> blocks = detachReleasable(wanted);
  if (blocks.empty()) {
    return false;
  }
  lock.unlock();
  std::exception_ptr failure;
  try {
    ensureContext(device_);
    NPU_CHECK(acl::api().aclrtSynchronizeDevice());
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  ++stats_.num_sync_all_streams;
  for (Block* block : blocks) {
    if (failure == nullptr) {
      giveBack(block);
    } else {
      block->detached = false;
      mergeAndInsert(block);
    }
  }
  if (failure != nullptr) {
    std::rethrow_exception(failure);
  }
  return true;
}

std::vector<Block*> DeviceCachingAllocator::detachReleasable(const BlockFilter& wanted) {
  std::vector<Block*> blocks;
  const auto collect = [&](BlockPool& pool) {
    for (Block* block : pool.free) {
      if (isReleasable(*block) && wanted(*block)) {
        blocks.push_back(block);
      }
    }
  };
  collect(small_);
  collect(large_);
  for (auto& [id, pool] : private_pools_) {
    if (pool->use_count == 0) {
      collect(pool->small);
      collect(pool->large);
    }
  }
  for (Block* block : blocks) {
    removeFree(block);
    block->detached = true;
  }
  return blocks;
}

void DeviceCachingAllocator::giveBack(Block* block) {
  const c10::MempoolId_t id = block->pool->id;
  if (block->expandable) {
    unmapFree(block);
  } else {
    destroySegment(block->segment);
  }
  erasePoolIfUnused(id);
}

void DeviceCachingAllocator::unmapFree(Block* block) {
  Segment* segment = block->segment;
  BlockPool* pool = block->pool;
  const auto [first, last] = wholeGranules(*block);
  const size_t begin = segment->offsetOf(block->address);
  if (begin + block->size > last) {
    Block* tail = splitFront(block, last - begin);
    tail->detached = false;
    mergeAndInsert(tail);
  }
  if (first > begin) {
    Block* front = block;
    block = splitFront(block, first - begin);
    front->detached = false;
    mergeAndInsert(front);
  }
  segment->unmap(first, last - first);
  ++stats_.num_device_free;
  stats_.removeReserved(pool->small, last - first, pool->id);
  trace_.addSegmentEvent(Action::SEGMENT_UNMAP, device_, block->address, block->size, block->stream,
                         pool->id);
  block->mapped = false;
  block->detached = false;
  if (block->next != nullptr && !block->next->mapped) {
    pool->unmapped.erase(block->next);
    absorbNext(block);
  }
  if (block->previous != nullptr && !block->previous->mapped) {
    block = block->previous;
    pool->unmapped.erase(block);
    absorbNext(block);
  }
  if (segment->mappedBytes() == 0) {
    destroySegment(segment);
  } else {
    pool->unmapped.insert(block);
  }
}

// Gives the segments back that have been free for longest, if more is reserved than the threshold
// allows, so that a full release and its pause are not needed.
void DeviceCachingAllocator::collectGarbage(Lock& lock) {
  const size_t limit = std::min(memory_limit_, totalMemory());
  const auto threshold = static_cast<size_t>(
      AcceleratorAllocatorConfig::garbage_collection_threshold() * static_cast<double>(limit));
  const auto reserved = static_cast<size_t>(stats_.reservedBytes());
  if (reserved <= threshold) {
    return;
  }
  std::vector<Block*> candidates;
  for (Block* block : large_.free) {
    if (!block->expandable && !block->isSplit()) {
      candidates.push_back(block);
    }
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const Block* a, const Block* b) { return a->free_since < b->free_since; });
  std::unordered_set<const Block*> chosen;
  size_t reclaimed = 0;
  for (const Block* block : candidates) {
    if (reclaimed >= reserved - threshold) {
      break;
    }
    chosen.insert(block);
    reclaimed += block->size;
  }
  if (!chosen.empty()) {
    releaseCached(lock, [&](const Block& block) { return chosen.count(&block) != 0; });
  }
}

// With a split limit, blocks above it are kept whole, and one of them may be all that is in the
// way.
bool DeviceCachingAllocator::releaseOversize(Lock& lock, const Request& request) {
  const size_t max_split = AcceleratorAllocatorConfig::max_split_size();
  if (max_split == std::numeric_limits<size_t>::max()) {
    return false;
  }
  std::unordered_set<const Block*> chosen;
  size_t reclaimed = 0;
  for (auto it = large_.free.rbegin(); it != large_.free.rend(); ++it) {
    const Block* block = *it;
    if (reclaimed < request.size && block->size >= max_split && isReleasable(*block)) {
      chosen.insert(block);
      reclaimed += block->size;
    }
  }
  return !chosen.empty() &&
         releaseCached(lock, [&](const Block& block) { return chosen.count(&block) != 0; });
}

size_t DeviceCachingAllocator::totalMemory() {
  if (total_memory_ == 0) {
    total_memory_ = queryDeviceMemory(device_).total;
  }
  return total_memory_;
}

void DeviceCachingAllocator::throwOutOfMemory(Lock& lock, const Request& request) {
  ++stats_.num_ooms;
  const auto allocated = static_cast<size_t>(stats_.allocatedBytes());
  const auto reserved = static_cast<size_t>(stats_.reservedBytes());
  const auto in_private_pools = static_cast<size_t>(stats_.privatePoolBytes());
  const size_t limit = memory_limit_;
  const std::vector<OutOfMemoryObserver> observers = observers_;
  const std::string reason = acl::recentErrorMessage();
  lock.unlock();

  const DeviceMemory memory = queryDeviceMemory(device_);
  lock.lock();
  trace_.addSegmentEvent(Action::OOM, device_, reinterpret_cast<const void*>(memory.free),
                         request.requested, request.stream, request.pool->id);
  lock.unlock();
  c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(request.size), allocated, reserved,
                                   c10::Device(c10::DeviceType::PrivateUse1, device_));
  for (const OutOfMemoryObserver& observer : observers) {
    observer(device_, request.requested, memory.total, memory.free);
  }

  std::string limit_text;
  if (limit < memory.total) {
    limit_text = format_size(limit) + " is allowed for this process. ";
  }
  std::string pools_text;
  if (in_private_pools != 0) {
    pools_text = ", " + format_size(in_private_pools) + " of it in private pools of graphs";
  }
  const std::string hint_text =
      reserved == allocated
          ? ""
          : " If much is reserved but unallocated, "
            "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True avoids fragmentation.";
  const std::string reason_text = reason.empty() ? "" : " CANN says: " + reason;
  TORCH_CHECK_WITH(OutOfMemoryError, false, "NPU out of memory. Tried to allocate ",
                   format_size(request.requested), ". NPU ", static_cast<int>(device_),
                   " has a total capacity of ", format_size(memory.total), " of which ",
                   format_size(memory.free), " is free. ", limit_text, "PyTorch has reserved ",
                   format_size(reserved), " in this process", pools_text, ": ",
                   format_size(allocated), " is allocated by tensors and ",
                   format_size(reserved - allocated), " is reserved but unallocated.", hint_text,
                   reason_text);
}

}  // namespace torch_npu
