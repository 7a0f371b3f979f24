#include "runtime/core/wait.h"

#include "runtime/core/task.h"
#include "runtime/core/worker_thread.h"

namespace softcann {

std::atomic<WaitHook> wait_hook{nullptr};

WaitInterruption::WaitInterruption() noexcept
    : hook_(isWorkerThread() ? nullptr : wait_hook.load(std::memory_order_relaxed)) {
  if (hook_ != nullptr) next_ = Clock::now() + kInterval;
}

bool WaitInterruption::requested() noexcept {
  if (hook_ == nullptr) return false;
  const Clock::time_point now = Clock::now();
  if (now < next_) return false;
  next_ = now + kInterval;
  return hook_() != 0;
}

}  // namespace softcann

// An extension of CANN's interface, looked up by name: see WaitHook. Null for none.
extern "C" SOFTCANN_EXPORT void softcannSetWaitHook(softcann::WaitHook hook) {
  softcann::wait_hook.store(hook);
}
