// The part of Stream that runs tasks: its worker thread, or the caller in blocking mode.
#include <signal.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/core/context.h"
#include "runtime/core/device.h"
#include "runtime/core/error_state.h"
#include "runtime/core/operation_timeout.h"
#include "runtime/core/registered_callbacks.h"
#include "runtime/core/stream.h"
#include "runtime/core/worker_thread.h"

namespace softcann {
namespace {

// How long an idle worker spins before it sleeps: longer than the gap between two operators that
// a busy program dispatches, and short enough not to be noticed.
constexpr std::chrono::microseconds kWorkerSpin(30);
constexpr std::chrono::seconds kLongSleep(3600);
// How many times a waiting worker pauses before it looks for its next task, if nobody waits for it.
constexpr int kPatience = 24;

thread_local Stream* running_stream = nullptr;
thread_local const char* running_task = nullptr;
thread_local bool is_worker = false;

// As opposed to copies, events and functions of the host.
bool isOperator(const TaskType* type) noexcept {
  return std::string_view(type->name).starts_with("aclnn");
}

}  // namespace

Stream* Stream::running() noexcept { return running_stream; }
const char* Stream::runningTask() noexcept { return running_task; }
bool isWorkerThread() noexcept { return is_worker; }

aclError Stream::runInCaller(const TaskType* type, void* payload) noexcept {
  std::lock_guard lock(inline_mutex_);
  Stream* const outer_stream = std::exchange(running_stream, this);
  const char* const outer_task = std::exchange(running_task, type->name);
  const aclError code = runLimited(type, payload);
  running_stream = outer_stream;
  running_task = outer_task;
  if (type->announce != nullptr) type->announce(payload);
  type->release(payload);
  if (code == ACL_SUCCESS) return ACL_SUCCESS;
  std::string text = takeTaskError();
  reportException(*this, 0, code);
  return fail(code, std::string(type->name) + " failed: " + text);
}

aclError Stream::startWorker() noexcept {
  std::lock_guard lock(mutex_);
  if ((flags_.load() & kNotStarted) == 0) return ACL_SUCCESS;
  // Signals are for the program's own threads, except those that a task's fault raises.
  sigset_t blocked;
  sigset_t previous;
  sigfillset(&blocked);
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
    sigdelset(&blocked, signal);
  pthread_sigmask(SIG_SETMASK, &blocked, &previous);
  const int error = pthread_create(&worker_, nullptr, &Stream::workerMain, this);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error != 0) {
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
                std::string("cannot start a stream's thread: ") + std::strerror(error));
  }
  worker_exists_ = true;
  flags_.fetch_and(~static_cast<uint32_t>(kNotStarted));
  return ACL_SUCCESS;
}

void* Stream::workerMain(void* stream) noexcept {
  auto* self = static_cast<Stream*>(stream);
  char name[16];
  std::snprintf(name, sizeof(name), "npu%d-stream%d", self->device_->id(), self->id_);
  pthread_setname_np(pthread_self(), name);
  Context::setCurrent(self->context_);
  running_stream = self;
  is_worker = true;
  self->work();
  self->stopped_.store(1);
  futexWake(self->stopped_);
  return nullptr;
}

void Stream::work() noexcept {
  for (uint64_t position = 0;; ++position) {
    Slot& slot = ring_[position % kCapacity];
    if (!waitForTask(slot, position)) return;
    const TaskType* type = slot.type;
    void* payload = slot.payload;
    slot.turn.store(position + kCapacity, std::memory_order_release);
    const bool dropped = (flags_.load(std::memory_order_relaxed) & (kStopped | kAborting)) != 0;
    if (!dropped) runTask(type, payload);
    if (type->announce != nullptr) {
      announcing_.store(position + 1);
      type->announce(payload);
      finished(position + 1);
      type->release(payload);
    } else {
      type->release(payload);
      finished(position + 1);
    }
  }
}

bool Stream::waitForTask(Slot& slot, uint64_t position) noexcept {
  // Looking takes the slot's cache line from the producer, who pays for it at the next task. Tasks
  // may start a little later and in a row, unless somebody waits for their end.
  auto ready = [&, pauses = 0]() mutable noexcept {
    if (stop_requested_.load(std::memory_order_relaxed)) return true;
    const bool awaited = waiting_.load(std::memory_order_relaxed) != 0;
    if (!awaited && pauses++ % kPatience != 0) return false;
    return slot.turn.load(std::memory_order_acquire) == position + 1;
  };
  if (!spinUntil(kWorkerSpin, ready)) {
    for (;;) {
      asleep_.store(1, std::memory_order_seq_cst);
      if (slot.turn.load(std::memory_order_seq_cst) == position + 1 || stop_requested_.load()) {
        break;
      }
      futexWait(asleep_, 1, kLongSleep);
    }
    asleep_.store(0, std::memory_order_relaxed);
  }
  return !stop_requested_.load(std::memory_order_relaxed);
}

void Stream::runTask(const TaskType* type, void* payload) noexcept {
  running_task = type->name;
  const aclError code = runLimited(type, payload);
  running_task = nullptr;
  if (code != ACL_SUCCESS) recordFailure(type->name, code);
}

aclError Stream::runLimited(const TaskType* type, void* payload) noexcept {
  const auto limit = std::chrono::microseconds(
      operation_timeouts.execute_microseconds.load(std::memory_order_relaxed));
  if (limit.count() == 0 || !isOperator(type)) return runTraced(type, payload);
  const Clock::time_point begin = Clock::now();
  const aclError code = runTraced(type, payload);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
  if (code != ACL_SUCCESS || took <= limit) return code;
  setTaskError("it took " + std::to_string(took.count()) + " us, longer than the limit of " +
               std::to_string(limit.count()) + " us that aclrtSetOpExecuteTimeOut() set");
  return ACL_ERROR_RT_AICORE_TIMEOUT;
}

void Stream::recordFailure(const char* task, aclError code) noexcept {
  std::string message = std::string(task) + " failed: " + takeTaskError();
  {
    std::lock_guard lock(mutex_);
    if (failure_.code == ACL_SUCCESS) failure_ = {code, std::move(message)};
    if (stopsOnFailure()) flags_.fetch_or(kStopped);
  }
  reportException(*this, completed_.load(std::memory_order_relaxed), code);
}

void Stream::finished(uint64_t count) noexcept {
  completed_.store(count, std::memory_order_seq_cst);
  if (count < awaited_.load(std::memory_order_seq_cst)) return;
  awaited_.store(UINT64_MAX);
  reached_.fetch_add(1);
  futexWake(reached_);
}

}  // namespace softcann
