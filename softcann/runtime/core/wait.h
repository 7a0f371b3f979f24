// Waiting: a short spin, then a futex. Used instead of condition variables because a parked
// thread must not keep the process from exiting (see process.h).
#pragma once

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>
#include <thread>

namespace softcann {

using Clock = std::chrono::steady_clock;

inline void cpuRelax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A point in time, or never.
class Deadline {
 public:
  static Deadline never() noexcept { return Deadline(); }
  // CANN's convention: -1 waits without limit.
  static Deadline afterMilliseconds(int64_t milliseconds) noexcept {
    Deadline deadline;
    if (milliseconds >= 0) {
      deadline.limited_ = true;
      deadline.at_ = Clock::now() + std::chrono::milliseconds(milliseconds);
    }
    return deadline;
  }

  bool passed() const noexcept { return limited_ && Clock::now() >= at_; }
  // Time left, but at most `most`.
  std::chrono::nanoseconds left(std::chrono::nanoseconds most) const noexcept {
    if (!limited_) return most;
    const auto rest = std::chrono::duration_cast<std::chrono::nanoseconds>(at_ - Clock::now());
    return rest < most ? rest : most;
  }

 private:
  bool limited_ = false;
  Clock::time_point at_;
};

// Ends waits of host threads from outside: a thread of the program that sleeps for a stream, for
// room in a full one or for an event calls the hook at intervals, with no lock held, and gives up
// with an error where it returns other than 0. Streams' own workers do not call it. For
// softcannSetWaitHook().
using WaitHook = int (*)();
extern std::atomic<WaitHook> wait_hook;

// Asks the hook whether the calling thread's wait is to end, at most once in an interval.
class WaitInterruption {
 public:
  static constexpr std::chrono::milliseconds kInterval{50};

  WaitInterruption() noexcept;
  // How long to sleep at most before asking again.
  std::chrono::nanoseconds nap(std::chrono::nanoseconds most) const noexcept {
    return hook_ == nullptr || most < kInterval ? most : kInterval;
  }
  bool requested() noexcept;

 private:
  WaitHook hook_;
  Clock::time_point next_;
};

// How a wait ended.
enum class WaitEnd { kReached, kTimedOut, kInterrupted, kOrphaned };

// Whose threads sleep at a futex: those of this process, or those of all that map it.
enum class FutexScope : int { kProcess = FUTEX_PRIVATE_FLAG, kMachine = 0 };

// Sleeps while `word` holds `expected`, at most `most`. May return early.
inline void futexWait(std::atomic<uint32_t>& word, uint32_t expected, std::chrono::nanoseconds most,
                      FutexScope scope = FutexScope::kProcess) noexcept {
  if (most.count() <= 0) return;
  timespec limit;
  limit.tv_sec = most.count() / 1'000'000'000;
  limit.tv_nsec = most.count() % 1'000'000'000;
  syscall(SYS_futex, &word, FUTEX_WAIT | static_cast<int>(scope), expected, &limit, nullptr, 0);
}

inline void futexWake(std::atomic<uint32_t>& word, int count = INT_MAX,
                      FutexScope scope = FutexScope::kProcess) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE | static_cast<int>(scope), count, nullptr, nullptr, 0);
}

// Spins until ready() or the spin time is over; returns the last ready(). On machines with few
// cores it soon offers the core to others, and on a single core it does not spin.
template <class Ready>
bool spinUntil(std::chrono::nanoseconds spin_time, Ready&& ready) noexcept {
  static const unsigned cores = std::thread::hardware_concurrency();
  if (ready()) return true;
  if (cores == 1) return false;
  for (int i = 0; i < 64; ++i) {
    cpuRelax();
    if (ready()) return true;
  }
  const Clock::time_point end = Clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; ++i) {
      cpuRelax();
      if (ready()) return true;
    }
    if (cores <= 2) sched_yield();
  } while (Clock::now() < end);
  return ready();
}

}  // namespace softcann
