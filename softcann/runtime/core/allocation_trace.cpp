#include "runtime/core/allocation_trace.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <deque>
#include <mutex>

namespace softcann {
namespace {

struct Block {
  static constexpr size_t kTraces = 1024;
  AllocationTrace traces[kTraces];
  Block* next = nullptr;
};

std::atomic<Block*> blocks{nullptr};  // newest first; never freed

struct Unused {
  std::mutex mutex;
  std::deque<AllocationTrace*> traces;  // oldest first, so that freed ones stay readable for long
};

Unused& unused() {
  static auto* unused = new Unused;
  return *unused;
}

}  // namespace

AllocationTrace* recordAllocation(uintptr_t begin, size_t size, const char* function,
                                  const void* caller) {
  thread_local const int thread = static_cast<int>(syscall(SYS_gettid));
  AllocationTrace* trace = nullptr;
  {
    std::lock_guard lock(unused().mutex);
    if (unused().traces.empty()) {
      auto* block = new Block;
      for (AllocationTrace& fresh : block->traces) unused().traces.push_back(&fresh);
      block->next = blocks.load();
      blocks.store(block);
    }
    trace = unused().traces.front();
    unused().traces.pop_front();
  }
  trace->begin = begin;
  trace->size = size;
  trace->function = function;
  trace->caller = caller;
  trace->thread = thread;
  trace->live.store(true, std::memory_order_release);
  return trace;
}

void retireTrace(AllocationTrace* trace) noexcept {
  trace->live.store(false, std::memory_order_release);
  std::lock_guard lock(unused().mutex);
  unused().traces.push_back(trace);
}

const AllocationTrace* findTrace(uintptr_t address) noexcept {
  const AllocationTrace* freed = nullptr;
  for (const Block* block = blocks.load(); block != nullptr; block = block->next) {
    for (const AllocationTrace& trace : block->traces) {
      if (address - trace.begin.load() >= trace.size.load()) continue;
      if (trace.live.load(std::memory_order_acquire)) return &trace;
      freed = &trace;
    }
  }
  return freed;
}

}  // namespace softcann
