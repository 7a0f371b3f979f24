// The allocator's history: what it did, in order, for torch.npu.memory's viewer.
//
// A ring of a bounded number of entries per device. Guarded by the lock of the allocator that owns
// it, except recording(), which any thread may ask at any time.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <c10/core/CachingDeviceAllocator.h>

#include "torch_npu/csrc/core/memory/block.h"

namespace torch_npu {

class MemoryTrace {
 public:
  using Entry = c10::CachingDeviceAllocator::TraceEntry;
  using Context = std::shared_ptr<c10::GatheredContext>;
  using RecordContext = c10::CachingDeviceAllocator::RecordContext;

  struct Settings {
    bool enabled = false;
    // Gathers the caller's stack; may take Python's lock, so it is called with no lock held.
    c10::CachingDeviceAllocator::CreateContextFn create_context = nullptr;
    size_t max_entries = 1;
    RecordContext when = RecordContext::NEVER;
  };

  void configure(const Settings& settings, bool clear_history);
  bool recording() const noexcept { return recording_.load(std::memory_order_relaxed); }

  // The caller's stack if entries of that detail are wanted, else null. Called without the lock.
  Context gather(RecordContext detail) const;

  void add(Entry::Action action, const Block& block, size_t size, Context context);
  void addSegmentEvent(Entry::Action action, c10::DeviceIndex device, const void* address,
                       size_t size, c10::StreamId stream, c10::MempoolId_t pool);

  // Oldest first.
  std::vector<Entry> entries() const;

 private:
  void append(Entry entry);

  std::atomic<bool> recording_{false};
  std::atomic<c10::CachingDeviceAllocator::CreateContextFn> create_context_{nullptr};
  std::atomic<RecordContext> when_{RecordContext::NEVER};
  size_t max_entries_ = 1;
  size_t oldest_ = 0;
  std::vector<Entry> ring_;
};

}  // namespace torch_npu
