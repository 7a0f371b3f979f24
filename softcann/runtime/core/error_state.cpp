#include "runtime/core/error_state.h"

#include <utility>

#include "runtime/core/task.h"

namespace softcann {
namespace {

// Outlives ErrorState, so that calls made by late destructors of the thread find out.
thread_local bool error_state_gone = false;

struct ErrorState {
  std::string message;
  std::string returned;
  std::string task_message;
  aclError last = ACL_SUCCESS;
  bool pending = false;

  ~ErrorState() { error_state_gone = true; }
};

ErrorState* errorState() noexcept {
  if (error_state_gone) return nullptr;
  thread_local ErrorState state;
  return &state;
}

}  // namespace

aclError fail(aclError code, std::string message) noexcept {
  if (ErrorState* state = errorState()) {
    state->message = std::move(message);
    state->pending = true;
    state->last = code;
  }
  return code;
}

void setTaskError(std::string message) noexcept {
  if (ErrorState* state = errorState()) state->task_message = std::move(message);
}

std::string takeTaskError() noexcept {
  ErrorState* state = errorState();
  return state == nullptr ? std::string() : std::exchange(state->task_message, std::string());
}

const char* takeErrorMessage() noexcept {
  ErrorState* state = errorState();
  if (state == nullptr || !state->pending) return nullptr;
  state->pending = false;
  state->returned = std::move(state->message);
  state->message.clear();
  return state->returned.c_str();
}

aclError lastError() noexcept {
  ErrorState* state = errorState();
  return state == nullptr ? ACL_SUCCESS : state->last;
}

void clearLastError() noexcept {
  if (ErrorState* state = errorState()) state->last = ACL_SUCCESS;
}

}  // namespace softcann
