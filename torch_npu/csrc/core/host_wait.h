// Waits of the host for the device that a signal can end: those for work, and for room in a stream
// that is full.
//
// While a thread is inside interruptibly(), softcann asks at intervals whether it must give up: the
// Python layer looks for signals then. Another CANN cannot ask, and its waits last until the work
// is done. No lock may be held inside, and no memory in use by work in flight be given back if the
// call throws.
#pragma once

#include <utility>

#include "acl/acl_base.h"
#include "torch_npu/csrc/acl/check.h"

namespace torch_npu {

// Who decides, for the process.
struct WaitEnding {
  // Called in the waiting thread: whether it must give up.
  bool (*requested)() noexcept = nullptr;
  // Called in that thread afterwards: throws what the wait ends with.
  void (*raise)() = nullptr;
};
C10_EXPORT void setWaitEnding(const WaitEnding& ending) noexcept;

// For the start of the runtime: has it ask.
void installWaitHook() noexcept;

// Whether a wait of this process has been given up, so that work may be stuck for good.
bool aWaitWasGivenUp() noexcept;

namespace detail {

class WaitScope {
 public:
  WaitScope() noexcept { ++depth; }
  ~WaitScope() { --depth; }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

  __attribute__((tls_model("initial-exec"))) static thread_local int depth;
};

// Throws if it was given up.
void raiseIfGivenUp();

}  // namespace detail

// The code of `call`, a function of AscendCL that may wait.
template <class Call>
aclError interruptibly(Call&& call) {
  aclError code = ACL_SUCCESS;
  {
    const detail::WaitScope scope;
    code = std::forward<Call>(call)();
  }
  if (C10_UNLIKELY(code != ACL_SUCCESS)) detail::raiseIfGivenUp();
  return code;
}

}  // namespace torch_npu
