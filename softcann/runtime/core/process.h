// The life of the runtime in this process: initialisation, finalisation, fork and exit.
//
// Note [Ends of the process]: worker threads are owned by streams and never detached. At exit
// they are told to stop and waited for, for a short time only, because a task may itself wait for
// a lock that the exiting thread holds. Objects with static lifetime are leaked behind a reachable
// pointer. A forked child has no workers and no mirror: every call there fails at once.
#pragma once

#include <atomic>
#include <exception>
#include <new>
#include <utility>

#include "acl/acl_rt.h"
#include "runtime/core/task.h"

namespace softcann {

enum class ProcessState : int { kUninitialized, kReady, kFinalized, kForked };
extern std::atomic<ProcessState> process_state;

inline bool processIsReady() noexcept {
  return process_state.load(std::memory_order_relaxed) == ProcessState::kReady;
}
// Sets the error text and returns the code for a call that came too early, too late, or in a
// forked child.
aclError notReady() noexcept;

aclError initializeProcess(const char* config_path) noexcept;
aclError finalizeProcess() noexcept;

// The frame of every C entry point: no exception leaves it, and the runtime must be ready.
template <class Body>
aclError guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
  } catch (const std::exception& error) {
    return fail(ACL_ERROR_INTERNAL_ERROR, error.what());
  }
}
template <class Body>
aclError entry(Body&& body) noexcept {
  if (__builtin_expect(!processIsReady(), 0)) return notReady();
  return guarded(std::forward<Body>(body));
}

}  // namespace softcann
