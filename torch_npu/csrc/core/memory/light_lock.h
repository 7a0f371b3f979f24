// A lock for critical sections of a few nanoseconds that are hardly ever contended.
//
// Taking it costs one atomic exchange and giving it back one store. A thread that has to wait
// spins briefly and then sleeps, because the holder may be waiting for memory from the device.
// Not recursive, not fair. Meets the requirements of Lockable.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>

#include <c10/macros/Macros.h>

namespace torch_npu {

class LightLock {
 public:
  void lock() noexcept {
    if (C10_LIKELY(!locked_.exchange(true, std::memory_order_acquire))) {
      return;
    }
    lockContended();
  }

  bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }

  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 128;
  static constexpr int kYields = 16;
  static constexpr long kSleepNanoseconds = 20'000;

  [[gnu::noinline]] void lockContended() noexcept {
    for (int round = 0;; ++round) {
      if (!locked_.load(std::memory_order_relaxed) && try_lock()) {
        return;
      }
      if (round < kSpins) {
        pause();
      } else if (round < kSpins + kYields) {
        sched_yield();
      } else {
        const timespec interval{0, kSleepNanoseconds};
        nanosleep(&interval, nullptr);
      }
    }
  }

  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }

  std::atomic<bool> locked_{false};
};

}  // namespace torch_npu
