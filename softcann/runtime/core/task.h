// The work that a stream carries, and how other softcann libraries (aclnn, hccl) hand it over.
//
// A task is a static description (TaskType) and a payload. The stream owns the payload from
// enqueue() on, also when enqueue() fails: it calls release() exactly once. run() may be called
// more than once, because a captured graph replays its tasks; release() then comes with the
// graph's destruction. A task that is dropped is released without having run.
//
// run() and release() execute on the stream's worker thread (in the caller with
// ASCEND_LAUNCH_BLOCKING=1). They never throw and never wait for another stream.
#pragma once

#include <string>

#include "acl/acl_rt.h"

#define SOFTCANN_EXPORT __attribute__((visibility("default")))

namespace softcann {

struct TaskType {
  // Shown in error messages and traces, e.g. "aclnnAdd". Static lifetime.
  const char* name;
  // Does the work. On failure calls setTaskError() and returns the code.
  aclError (*run)(void* payload) noexcept;
  // Gives the payload's resources back.
  void (*release)(void* payload) noexcept;
  // Only for a task that tells others of its end, as the recording of an event does: called when
  // it has run or was dropped, before the stream counts it as finished. So whoever waited for the
  // stream finds the event complete, and whoever waited for the event finds the stream idle
  // (Stream::isIdle).
  void (*announce)(void* payload) noexcept = nullptr;
};

// Appends a task to `stream`; nullptr means the default stream of the calling thread's context.
// Returns an error, with a message for aclGetRecentErrMsg(), if the handle is invalid or the
// stream is in an error state (stop-on-failure mode) or being aborted.
SOFTCANN_EXPORT aclError enqueue(aclrtStream stream, const TaskType* type, void* payload) noexcept;

// Called from inside run(): the text that belongs to the code which run() is about to return.
// It reaches the host with the next synchronisation of the stream.
SOFTCANN_EXPORT void setTaskError(std::string message) noexcept;

// Sets the calling thread's aclGetRecentErrMsg() text and returns `code`:
//   return fail(ACL_ERROR_INVALID_PARAM, "aclnnAdd: self is null");
SOFTCANN_EXPORT aclError fail(aclError code, std::string message) noexcept;

// Where the bytes of a device pointer are visible to kernels; a constant distance away.
// A host pointer (pinned memory) is returned as it is. Cheap: one comparison and one addition.
SOFTCANN_EXPORT void* hostView(const void* pointer) noexcept;

}  // namespace softcann
