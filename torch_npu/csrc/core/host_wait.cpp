#include "torch_npu/csrc/core/host_wait.h"

#include <atomic>

#include "torch_npu/csrc/acl/runtime_api.h"

namespace torch_npu {

namespace {

WaitEnding wait_ending;  // set while the module is loaded, before any wait
std::atomic<bool> any_given_up{false};
thread_local bool given_up = false;

int endWait() noexcept {
  if (detail::WaitScope::depth == 0 || wait_ending.requested == nullptr) return 0;
  if (!wait_ending.requested()) return 0;
  given_up = true;
  any_given_up.store(true, std::memory_order_relaxed);
  return 1;
}

}  // namespace

namespace detail {

thread_local int WaitScope::depth = 0;

void raiseIfGivenUp() {
  if (!std::exchange(given_up, false)) return;
  (void)acl::recentErrorMessage();  // the wait's, which is not the one that counts
  wait_ending.raise();
}

}  // namespace detail

void setWaitEnding(const WaitEnding& ending) noexcept { wait_ending = ending; }

void installWaitHook() noexcept {
  using SetWaitHook = void (*)(int (*)());
  if (const auto set = reinterpret_cast<SetWaitHook>(acl::runtimeSymbol("softcannSetWaitHook"))) {
    set(&endWait);
  }
}

bool aWaitWasGivenUp() noexcept { return any_given_up.load(std::memory_order_relaxed); }

}  // namespace torch_npu
