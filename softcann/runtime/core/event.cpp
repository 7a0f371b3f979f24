#include "runtime/core/event.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace softcann {
namespace {

constexpr std::chrono::microseconds kEventSpin(20);
// A worker that waits looks this often whether its stream is being aborted, and whoever waits for a
// shared event whether the process that recorded it lives.
constexpr std::chrono::milliseconds kAbortCheck(20);
constexpr const char* kOrphanText =
    "the process that recorded the shared event has ended before the event was reached";

struct EventPool {
  std::mutex mutex;
  std::vector<Event*> free;
  uint32_t next_id = 0;
};

EventPool& pool() {
  static auto* pool = new EventPool;
  return *pool;
}

uint64_t nowNanoseconds() noexcept {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
          .count());
}

// Two recordings never have the same time, in whichever streams they are, in microseconds either.
uint64_t nextTimestamp() noexcept {
  static std::atomic<uint64_t> latest{0};
  uint64_t before = latest.load(std::memory_order_relaxed);
  uint64_t now = nowNanoseconds();
  do {
    now = std::max(now, (before / 1000 + 1) * 1000);
  } while (!latest.compare_exchange_weak(before, now, std::memory_order_relaxed));
  return now;
}

// Whether `generation` comes at or before `reached`; generations wrap around.
bool isReached(uint32_t generation, uint32_t reached) noexcept {
  return static_cast<int32_t>(reached - generation) >= 0;
}

}  // namespace

// The tasks that events put into streams.
struct EventTasks {
  struct Payload {
    Event* event;
    uint32_t generation;
    int32_t timeout_ms;
    uint64_t nanoseconds = 0;  // when the recording ran; 0 if it was dropped
  };

  static Payload* payloadOf(void* payload) noexcept { return static_cast<Payload*>(payload); }

  static aclError runRecord(void* payload) noexcept {
    payloadOf(payload)->nanoseconds = nextTimestamp();
    return ACL_SUCCESS;
  }
  // Also of a dropped recording: nobody may wait for it in vain.
  static void announceRecord(void* payload) noexcept {
    Payload* task = payloadOf(payload);
    task->event->complete(task->generation, task->nanoseconds);
  }
  // A recording that no stream accepted has not been announced.
  static void releaseRecord(void* payload) noexcept {
    announceRecord(payload);
    payloadOf(payload)->event->drop();
    delete payloadOf(payload);
  }

  static aclError runReset(void* payload) noexcept {
    Payload* task = payloadOf(payload);
    task->event->nanoseconds_.store(0);
    if (task->event->isExternal()) task->event->state_->completed.store(0);
    return ACL_SUCCESS;
  }
  static void releaseReset(void* payload) noexcept {
    payloadOf(payload)->event->drop();
    delete payloadOf(payload);
  }

  static aclError runWait(void* payload) noexcept {
    Payload* task = payloadOf(payload);
    switch (task->event->waitFor(task->generation, Deadline::afterMilliseconds(task->timeout_ms),
                                 Stream::running())) {
      case WaitEnd::kReached:
        return ACL_SUCCESS;
      case WaitEnd::kOrphaned:
        setTaskError(kOrphanText);
        return ACL_ERROR_RT_IPC_ERROR;
      default:
        break;
    }
    setTaskError("the event was not complete after " + std::to_string(task->timeout_ms) + " ms");
    return ACL_ERROR_RT_EVENT_SYNC_TIMEOUT;
  }
  static void releaseWait(void* payload) noexcept {
    payloadOf(payload)->event->pending_waits_.fetch_sub(1);
    payloadOf(payload)->event->drop();
    delete payloadOf(payload);
  }

  // A flag that is not set stays so where the recording was dropped.
  static aclError runSet(void* payload) noexcept {
    Payload* task = payloadOf(payload);
    task->event->state_->completed.store(task->generation);
    futexWake(task->event->state_->completed);
    return ACL_SUCCESS;
  }

  static constexpr TaskType kSet = {"aclrtRecordEvent", runSet, releaseReset};
  static constexpr TaskType kRecord = {"aclrtRecordEvent", runRecord, releaseRecord,
                                       announceRecord};
  static constexpr TaskType kReset = {"aclrtResetEvent", runReset, releaseReset};
  static constexpr TaskType kWait = {"aclrtStreamWaitEvent", runWait, releaseWait};
};

Event* Event::open(uint32_t flags, std::shared_ptr<SharedEvent> shared) {
  Event* event = nullptr;
  {
    std::lock_guard lock(pool().mutex);
    if (!pool().free.empty()) {
      event = pool().free.back();
      pool().free.pop_back();
    } else {
      event = new Event;
    }
    event->id_ = pool().next_id++;
  }
  event->flags_ = flags;
  event->own_state_.recorded = 0;
  event->own_state_.completed = 0;
  event->state_ = shared != nullptr ? &shared->state() : &event->own_state_;
  event->shared_ = std::move(shared);
  event->pending_waits_ = 0;
  event->nanoseconds_ = 0;
  event->references_ = 1;
  event->magic_ = kMagic;
  return event;
}

aclError Event::close() noexcept {
  uint32_t alive = kMagic;
  if (!magic_.compare_exchange_strong(alive, 0)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "the event has been destroyed already");
  }
  drop();
  return ACL_SUCCESS;
}

void Event::drop() noexcept {
  if (references_.fetch_sub(1) != 1) return;
  state_ = &own_state_;
  shared_.reset();
  std::lock_guard lock(pool().mutex);
  pool().free.push_back(this);
}

aclError Event::record(Stream* stream) {
  uint32_t generation = 0;
  if (isExternal()) {
    retain();
    return stream->enqueue(&EventTasks::kSet, new EventTasks::Payload{this, awaited(), -1});
  }
  if (shared_ == nullptr) {
    generation = state_->recorded.fetch_add(1) + 1;
  } else {
    const std::optional<uint32_t> number = shared_->beginRecording();
    if (!number) return ACL_ERROR_RT_IPC_ERROR;
    generation = *number;
  }
  retain();
  return stream->enqueue(&EventTasks::kRecord, new EventTasks::Payload{this, generation, -1});
}

aclError Event::reset(Stream* stream) {
  retain();
  return stream->enqueue(&EventTasks::kReset, new EventTasks::Payload{this, 0, -1});
}

aclError Event::waitIn(Stream* stream, int32_t timeout_ms) {
  const uint32_t generation = awaited();
  // The flag of an external event counts when the stream gets there.
  if (!isExternal() && isReached(generation, state_->completed.load(std::memory_order_acquire))) {
    return ACL_SUCCESS;
  }
  retain();
  pending_waits_.fetch_add(1);
  return stream->enqueue(&EventTasks::kWait, new EventTasks::Payload{this, generation, timeout_ms});
}

void Event::complete(uint32_t generation, uint64_t nanoseconds) noexcept {
  // Recordings in different streams may finish out of order: only move forward.
  uint32_t reached = state_->completed.load();
  bool moved = false;
  while (!moved && !isReached(generation, reached)) {
    if (generation == state_->recorded.load()) nanoseconds_.store(nanoseconds);
    moved = state_->completed.compare_exchange_weak(reached, generation);
  }
  if (shared_ != nullptr) shared_->endRecording(generation);
  if (moved && state_->sleepers.load() != 0) futexWake(state_->completed, INT_MAX, scope());
}

bool Event::isComplete() const noexcept { return isReached(awaited(), state_->completed.load()); }

bool Event::isOrphaned() const noexcept {
  return shared_ != nullptr && shared_->isOrphaned(state_->recorded.load());
}

WaitEnd Event::waitFor(uint32_t generation, Deadline deadline, const Stream* waiting) noexcept {
  const auto done = [&]() noexcept { return isReached(generation, state_->completed.load()); };
  if (spinUntil(kEventSpin, done)) return WaitEnd::kReached;
  state_->sleepers.fetch_add(1);
  WaitEnd result = WaitEnd::kReached;
  WaitInterruption interruption;
  for (;;) {
    const uint32_t seen = state_->completed.load();
    if (isReached(generation, seen) || (waiting != nullptr && waiting->isAborting())) break;
    if (deadline.passed()) {
      result = WaitEnd::kTimedOut;
      break;
    }
    if (interruption.requested()) {
      result = WaitEnd::kInterrupted;
      break;
    }
    if (shared_ != nullptr && shared_->isOrphaned(generation)) {
      result = WaitEnd::kOrphaned;
      break;
    }
    futexWait(state_->completed, seen, deadline.left(kAbortCheck), scope());
  }
  state_->sleepers.fetch_sub(1);
  return result;
}

aclError Event::synchronize(Deadline deadline) noexcept {
  switch (waitFor(awaited(), deadline, Stream::running())) {
    case WaitEnd::kReached:
      return ACL_SUCCESS;
    case WaitEnd::kOrphaned:
      return fail(ACL_ERROR_RT_IPC_ERROR, kOrphanText);
    case WaitEnd::kInterrupted:
      return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the wait for the event was interrupted");
    case WaitEnd::kTimedOut:
      break;
  }
  return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "the event was not complete within the timeout");
}

aclError Event::timestamp(uint64_t* nanoseconds) const noexcept {
  if ((flags_ & ACL_EVENT_TIME_LINE) == 0) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "the event keeps no time: create it with ACL_EVENT_TIME_LINE");
  }
  if (state_->recorded.load() == 0) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "the event has not been recorded");
  }
  if (!isComplete()) {
    return fail(ACL_ERROR_RT_EVENT_NOT_COMPLETE, "the event is not complete yet");
  }
  *nanoseconds = nanoseconds_.load();
  if (*nanoseconds == 0) {
    return fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
                "the event was reset, or its recording was dropped with its stream's tasks");
  }
  return ACL_SUCCESS;
}

}  // namespace softcann
