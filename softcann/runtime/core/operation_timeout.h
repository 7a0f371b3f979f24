// Limits on how long an operation may wait for an event or execute.
#pragma once

#include <atomic>
#include <cstdint>

namespace softcann {

// An operator whose kernel took longer than the limit fails, but only when it has ended: a kernel
// of the CPU cannot be interrupted.
struct OperationTimeouts {
  std::atomic<uint32_t> wait_seconds{0};          // 0: no limit
  std::atomic<uint64_t> execute_microseconds{0};  // 0: no limit
};
inline OperationTimeouts operation_timeouts;

// For Event::waitIn(): -1 without limit.
inline int32_t waitTimeoutMilliseconds() noexcept {
  const uint32_t seconds = operation_timeouts.wait_seconds.load(std::memory_order_relaxed);
  if (seconds == 0 || seconds > INT32_MAX / 1000) return -1;
  return static_cast<int32_t>(seconds * 1000);
}

}  // namespace softcann
