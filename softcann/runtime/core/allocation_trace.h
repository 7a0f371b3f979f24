// Who allocated what: a table that a signal handler can read without locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace softcann {

// An allocation of device memory. It stays readable after it was freed, until the entry is used
// again, so that a fault report can tell a stale pointer.
struct AllocationTrace {
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> size{0};
  std::atomic<const char*> function{nullptr};  // static text, e.g. "aclrtMalloc"
  std::atomic<const void*> caller{nullptr};    // code address that called it
  std::atomic<int> thread{0};
  std::atomic<bool> live{false};
};

// Thread-safe. The entry belongs to the caller until retireTrace().
AllocationTrace* recordAllocation(uintptr_t begin, size_t size, const char* function,
                                  const void* caller);
void retireTrace(AllocationTrace* trace) noexcept;

// Async-signal-safe: the live allocation that holds the address, else a freed one, else nullptr.
const AllocationTrace* findTrace(uintptr_t address) noexcept;

}  // namespace softcann
