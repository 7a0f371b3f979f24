#include "torch_npu/csrc/core/memory/memory_trace.h"

#include <algorithm>

namespace torch_npu {

namespace {

void* streamAddress(c10::StreamId stream) { return reinterpret_cast<void*>(stream); }

}  // namespace

void MemoryTrace::configure(const Settings& settings, bool clear_history) {
  if (clear_history || settings.max_entries < ring_.size()) {
    ring_.clear();
    oldest_ = 0;
  } else {
    std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(oldest_), ring_.end());
    oldest_ = 0;
  }
  max_entries_ = std::max<size_t>(settings.max_entries, 1);
  create_context_.store(settings.create_context, std::memory_order_relaxed);
  when_.store(settings.when, std::memory_order_relaxed);
  recording_.store(settings.enabled, std::memory_order_release);
}

MemoryTrace::Context MemoryTrace::gather(RecordContext detail) const {
  const auto create_context = create_context_.load(std::memory_order_relaxed);
  if (create_context == nullptr || when_.load(std::memory_order_relaxed) < detail) {
    return nullptr;
  }
  return create_context();
}

void MemoryTrace::add(Entry::Action action, const Block& block, size_t size, Context context) {
  if (recording()) {
    append(Entry(action, block.device, reinterpret_cast<size_t>(block.address), size,
                 streamAddress(block.stream), block.pool->id, c10::getApproximateTime(),
                 std::move(context)));
  }
}

void MemoryTrace::addSegmentEvent(Entry::Action action, c10::DeviceIndex device,
                                  const void* address, size_t size, c10::StreamId stream,
                                  c10::MempoolId_t pool) {
  if (recording()) {
    append(Entry(action, device, reinterpret_cast<size_t>(address), size, streamAddress(stream),
                 pool, c10::getApproximateTime()));
  }
}

std::vector<MemoryTrace::Entry> MemoryTrace::entries() const {
  std::vector<Entry> result;
  result.reserve(ring_.size());
  for (size_t i = 0; i < ring_.size(); ++i) {
    result.push_back(ring_[(oldest_ + i) % ring_.size()]);
  }
  return result;
}

void MemoryTrace::append(Entry entry) {
  if (ring_.size() < max_entries_) {
    ring_.push_back(std::move(entry));
    return;
  }
  ring_[oldest_] = std::move(entry);
  oldest_ = (oldest_ + 1) % ring_.size();
}

}  // namespace torch_npu
