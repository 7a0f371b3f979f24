// What the allocator holds, segment by segment and block by block.
#include <algorithm>

#include "torch_npu/csrc/core/memory/device_caching_allocator.h"

namespace torch_npu {

namespace {

using c10::CachingDeviceAllocator::BlockInfo;
using c10::CachingDeviceAllocator::SegmentInfo;

SegmentInfo emptyInfo(const Segment& segment, const Block& first) {
  SegmentInfo info;
  info.device = first.device;
  info.address = reinterpret_cast<size_t>(first.address);
  info.stream = reinterpret_cast<void*>(segment.stream);
  info.is_large = !segment.pool->small;
  info.is_expandable = segment.expandable();
  info.owner_private_pool_id = segment.pool->id;
  info.context_when_allocated = first.context;
  return info;
}

void addBlock(SegmentInfo& info, const Block& block) {
  BlockInfo entry;
  entry.size = block.size;
  entry.allocated = block.allocated;
  entry.active = block.allocated || block.pending_events > 0;
  entry.requested_size = entry.active ? block.requested_size : 0;
  entry.gc_counter =
      entry.active ? 0 : static_cast<int32_t>(block.pool->searches - block.free_since);
  entry.context_when_allocated = block.context;
  info.total_size += block.size;
  if (entry.allocated) {
    info.allocated_size += block.size;
  }
  if (entry.active) {
    info.active_size += block.size;
    info.requested_size += entry.requested_size;
  }
  info.blocks.push_back(std::move(entry));
}

// An unbacked range divides an expandable segment into several.
void appendSegment(std::vector<SegmentInfo>& result, const Segment& segment) {
  bool continues = false;
  for (const Block* block = segment.first_block; block != nullptr; block = block->next) {
    if (!block->mapped) {
      continues = false;
      continue;
    }
    if (!continues) {
      result.push_back(emptyInfo(segment, *block));
      continues = true;
    }
    addBlock(result.back(), *block);
  }
}

}  // namespace

std::vector<SegmentInfo> DeviceCachingAllocator::snapshot() const {
  std::vector<SegmentInfo> result;
  {
    Lock lock(lock_);
    for (const auto& [key, segment] : segments_) {
      appendSegment(result, *segment);
    }
  }
  std::sort(result.begin(), result.end(),
            [](const SegmentInfo& a, const SegmentInfo& b) { return a.address < b.address; });
  return result;
}

std::vector<MemoryTrace::Entry> DeviceCachingAllocator::trace() const {
  Lock lock(lock_);
  return trace_.entries();
}

}  // namespace torch_npu
