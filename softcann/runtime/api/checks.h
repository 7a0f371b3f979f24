// Argument checks that entry points share.
#pragma once

#include <string>

#include "runtime/core/context.h"
#include "runtime/core/event.h"
#include "runtime/core/process.h"
#include "runtime/core/stream.h"

namespace softcann {

inline aclError requireNotNull(const char* function, const char* parameter, const void* value) {
  if (value != nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + parameter + " is null");
}

inline aclError liveEvent(const char* function, aclrtEvent handle, Event*& event) {
  event = Event::fromHandle(handle);
  if (event != nullptr && event->isAlive()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE,
              std::string(function) + ": the event is null or has been destroyed");
}

// What is destroyed or freed after aclFinalize() has gone with it: such calls are ignored.
inline bool isFinalized() noexcept {
  return process_state.load(std::memory_order_relaxed) == ProcessState::kFinalized;
}

}  // namespace softcann

// Leaves the enclosing function with the code of a call that failed.
#define SOFTCANN_TRY(call)                                                          \
  do {                                                                              \
    if (const aclError try_code = (call); try_code != ACL_SUCCESS) return try_code; \
  } while (false)
