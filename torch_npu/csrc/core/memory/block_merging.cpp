// How blocks are split, merged and kept while they are free. See Note [Two levels of free blocks].
#include "torch_npu/csrc/core/memory/device_caching_allocator.h"

namespace torch_npu {

using Action = MemoryTrace::Entry::Action;

StreamBins* DeviceCachingAllocator::binsOf(c10::StreamId stream) {
  std::unique_ptr<StreamBins>& bins = bins_[stream];
  if (bins == nullptr) {
    bins = std::make_unique<StreamBins>(stream);
  }
  return bins.get();
}

void DeviceCachingAllocator::insertFree(Block* block) {
  block->free_since = block->pool->searches;
  block->pool->free.insert(block);
  if (block->countsAsInactiveSplit()) {
    stats_.addInactiveSplit(block->pool->small, block->size);
  }
}

void DeviceCachingAllocator::removeFree(Block* block) {
  block->pool->free.erase(block);
  if (block->countsAsInactiveSplit()) {
    stats_.removeInactiveSplit(block->pool->small, block->size);
  }
}

void DeviceCachingAllocator::makeAvailable(Block* block) {
  stats_.deactivate(block->pool->small, block->size);
  trace_.add(Action::FREE_COMPLETED, *block, block->requested_size, block->context);
  block->context = nullptr;
  if (block->bins == nullptr) {
    mergeAndInsert(block);
    return;
  }
  block->bins->push(block);
  if (block->countsAsInactiveSplit()) {
    stats_.addInactiveSplit(true, block->size);
  }
}

void DeviceCachingAllocator::mergeAndInsert(Block* block) {
  block->requested_size = 0;
  if (block->next != nullptr && block->next->isFree()) {
    removeFree(block->next);
    absorbNext(block);
  }
  if (block->previous != nullptr && block->previous->isFree()) {
    block = block->previous;
    removeFree(block);
    absorbNext(block);
  }
  insertFree(block);
}

void DeviceCachingAllocator::absorbNext(Block* block) {
  Block* gone = block->next;
  block->size += gone->size;
  block->next = gone->next;
  if (gone->next != nullptr) {
    gone->next->previous = block;
  }
  delete gone;
}

Block* DeviceCachingAllocator::splitFront(Block* block, size_t size) {
  auto* rest = new Block;
  rest->address = block->address + size;
  rest->size = block->size - size;
  rest->owner = this;
  rest->device = device_;
  rest->stream = block->stream;
  rest->pool = block->pool;
  rest->segment = block->segment;
  rest->expandable = block->expandable;
  rest->mapped = block->mapped;
  rest->detached = block->detached;
  rest->previous = block;
  rest->next = block->next;
  if (block->next != nullptr) {
    block->next->previous = rest;
  }
  block->next = rest;
  block->size = size;
  return rest;
}

void DeviceCachingAllocator::unpark(StreamBins& bins) {
  for (size_t bin = 1; bin < StreamBins::kBins && bins.count != 0; ++bin) {
    while (Block* block = bins.pop(bin)) {
      if (block->countsAsInactiveSplit()) {
        stats_.removeInactiveSplit(true, block->size);
      }
      mergeAndInsert(block);
    }
  }
}

void DeviceCachingAllocator::unparkAll() {
  for (auto& [stream, bins] : bins_) {
    unpark(*bins);
  }
}

}  // namespace torch_npu
