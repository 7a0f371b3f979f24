// Note [Two levels of free blocks]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
// A small block that comes back is not merged with its neighbours: it is parked in its stream's
// bin for exactly that size, and the next request of that size takes it from there. Both are a few
// loads and stores, and a program that runs the same operators over and over never does anything
// else.
//
// Parked blocks go to the ordered pool, merged, whenever their memory could serve something else:
// before a new small segment is fetched for the stream, before memory is given back to the device,
// and when the allocator is about to report that memory ran out. So each block is moved at most
// once per time that it was parked, and parking never costs memory.
//
// Only the default small pool has bins. Large blocks are few and their kernels take longer than a
// search; private pools are used while a graph is captured, not while it is replayed.
#include <algorithm>

#include <c10/util/llvmMathExtras.h>

#include "torch_npu/csrc/core/memory/block.h"

namespace torch_npu {

namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;
using c10::CachingAllocator::kMinLargeAlloc;
using c10::CachingAllocator::kRoundLarge;
using c10::CachingAllocator::kSmallBuffer;

size_t roundUp(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

// `size` rounded up to a power of two, or to one of the equal steps between two of them.
size_t roundToPowerOfTwoStep(size_t size, size_t divisions) {
  const size_t ceiling = c10::llvm::PowerOf2Ceil(size);
  const size_t floor = ceiling == size ? size : ceiling / 2;
  const size_t step = floor / divisions;
  return step == 0 ? ceiling : roundUp(size, step);
}

}  // namespace

size_t roundedSize(size_t size) {
  if (size <= kMinBlockSize) {
    return kMinBlockSize;
  }
  const size_t divisions = AcceleratorAllocatorConfig::roundup_power2_divisions(size);
  if (divisions > 1 && size > kMinBlockSize * divisions) {
    return roundUp(roundToPowerOfTwoStep(size, divisions), kMinBlockSize);
  }
  return roundUp(size, kMinBlockSize);
}

size_t segmentSize(size_t size) {
  if (size <= kSmallSize) {
    return kSmallBuffer;
  }
  if (size < kMinLargeAlloc) {
    return std::max(AcceleratorAllocatorConfig::large_segment_size(), roundUp(size, kRoundLarge));
  }
  return roundUp(size, kRoundLarge);
}

bool shouldSplit(const Block& block, size_t size) {
  const size_t rest = block.size - size;
  if (block.pool->small || block.expandable) {
    return rest >= kMinBlockSize;
  }
  return size < AcceleratorAllocatorConfig::max_split_size() && rest > kSmallSize;
}

size_t granuleSize(bool small) {
  return small ? kSmallBuffer : AcceleratorAllocatorConfig::large_segment_size();
}

Block* BlockPool::bestFit(c10::StreamId stream, size_t size) {
  ++searches;
  Block key;
  key.stream = stream;
  key.size = size;
  const auto found = free.lower_bound(&key);
  if (found == free.end() || (*found)->stream != stream) {
    return nullptr;
  }
  Block* block = *found;
  const size_t max_split = AcceleratorAllocatorConfig::max_split_size();
  if (size < max_split) {
    // A block above the limit is kept whole for requests of that order.
    return block->size >= max_split ? nullptr : block;
  }
  const size_t waste_limit = AcceleratorAllocatorConfig::max_non_split_rounding_size();
  return block->size - size >= waste_limit ? nullptr : block;
}

}  // namespace torch_npu
