#include "runtime/core/stream.h"

#include <utility>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/core/device.h"
#include "runtime/core/platform.h"

namespace softcann {
namespace {

constexpr std::chrono::microseconds kHostSpin(20);
constexpr std::chrono::seconds kLongSleep(3600);

// Leaked, with this pointer as the root: see "recycled" in stream.h.
struct StreamPool {
  std::mutex mutex;
  std::vector<Stream*> free;
  int32_t next_id = 0;
};

StreamPool& pool() {
  static auto* pool = new StreamPool;
  return *pool;
}

// Counts the calling thread among those that wait.
class Waiting {
 public:
  explicit Waiting(std::atomic<uint32_t>& count) noexcept : count_(count) { count_.fetch_add(1); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() { count_.fetch_sub(1); }

 private:
  std::atomic<uint32_t>& count_;
};

}  // namespace

Stream::Stream() noexcept = default;

Stream* Stream::open(Context* context, uint32_t priority, uint32_t flags) {
  Stream* stream = nullptr;
  {
    std::lock_guard lock(pool().mutex);
    if (!pool().free.empty()) {
      stream = pool().free.back();
      pool().free.pop_back();
    } else {
      stream = new Stream;
      stream->ring_ = new Slot[kCapacity];
    }
    stream->id_ = pool().next_id++;
  }
  for (uint64_t i = 0; i < kCapacity; ++i) stream->ring_[i].turn.store(i);
  stream->context_ = context;
  stream->device_ = context->device();
  stream->priority_ = priority;
  stream->creation_flags_ = flags;
  stream->trace_file_ = platform()->trace_file;
  stream->tail_ = 0;
  stream->completed_ = 0;
  stream->announcing_ = 0;
  stream->asleep_ = 0;
  stream->stop_requested_ = false;
  stream->stopped_ = 0;
  stream->awaited_ = UINT64_MAX;
  stream->waiting_ = 0;
  stream->failure_ = {};
  stream->attributes.custom_tag = 0;
  stream->attributes.cache_op_info = 0;
  for (auto& limit : stream->attributes.core_limit) limit = 0;
  stream->flags_ = kNotStarted;
  if (platform()->launch_blocking) stream->flags_ |= kBlocking;
  stream->magic_ = kMagic;
  return stream;
}

// ---- Producers -----------------------------------------------------------------------------

aclError Stream::enqueue(const TaskType* type, void* payload) noexcept {
  if ((flags_.load(std::memory_order_relaxed) & kSlow) != 0) return enqueueSlow(type, payload);
  return push(type, payload);
}

aclError Stream::push(const TaskType* type, void* payload) noexcept {
  uint64_t position = tail_.load(std::memory_order_relaxed);
  Slot* slot = nullptr;
  for (;;) {
    slot = &ring_[position % kCapacity];
    const uint64_t turn = slot->turn.load(std::memory_order_acquire);
    if (turn == position) {
      if (tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) break;
    } else if (turn < position) {
      if (const char* reason = waitForRoom(position); reason != nullptr) {
        type->release(payload);
        return fail(ACL_ERROR_RT_STREAM_TASK_FULL,
                    std::string(type->name) + ": the stream is full" + reason);
      }
      position = tail_.load(std::memory_order_relaxed);
    } else {
      position = tail_.load(std::memory_order_relaxed);
    }
  }
  slot->type = type;
  slot->payload = payload;
  // Sequentially consistent, against the worker's "asleep, then look again".
  slot->turn.store(position + 1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst) != 0) wakeWorker();
  return ACL_SUCCESS;
}

const char* Stream::waitForRoom(uint64_t position) noexcept {
  if (running() == this) return " and only the calling task could empty it";
  // Until half of the ring is free, so that a fast producer does not wake up for every task.
  const WaitEnd end =
      waitCompleted(position - kCapacity / 2, Deadline::never(), /*interruptible=*/true);
  return end == WaitEnd::kReached ? nullptr : ", and the wait for room was interrupted";
}

void Stream::wakeWorker() noexcept {
  if (asleep_.exchange(0) != 0) futexWake(asleep_, 1);
}

aclError Stream::enqueueSlow(const TaskType* type, void* payload) noexcept {
  const uint32_t flags = flags_.load();
  if ((flags & (kClosing | kAborting)) != 0) {
    type->release(payload);
    return fail(ACL_ERROR_RT_STREAM_ABORT, std::string(type->name) + ": the stream is being " +
                                               ((flags & kClosing) ? "destroyed" : "aborted"));
  }
  if ((flags & kStopped) != 0) {
    type->release(payload);
    std::lock_guard lock(mutex_);
    return fail(failure_.code,
                std::string(type->name) +
                    ": the stream has stopped at an earlier failure: " + failure_.message);
  }
  if ((flags & kBlocking) != 0) return runInCaller(type, payload);
  const aclError code = startWorker();
  if (code != ACL_SUCCESS) {
    type->release(payload);
    return code;
  }
  return push(type, payload);
}

// ---- Waiting -------------------------------------------------------------------------------

WaitEnd Stream::waitCompleted(uint64_t count, Deadline deadline, bool interruptible) noexcept {
  const auto done = [&]() noexcept { return completed_.load(std::memory_order_acquire) >= count; };
  if (done()) return WaitEnd::kReached;
  const Waiting waiting(waiting_);
  if (spinUntil(kHostSpin, done)) return WaitEnd::kReached;
  WaitInterruption interruption;
  for (;;) {
    const uint32_t seen = reached_.load(std::memory_order_acquire);
    uint64_t awaited = awaited_.load(std::memory_order_relaxed);
    while (awaited > count && !awaited_.compare_exchange_weak(awaited, count)) {
    }
    if (completed_.load(std::memory_order_seq_cst) >= count) return WaitEnd::kReached;
    if (deadline.passed()) return WaitEnd::kTimedOut;
    if (interruptible && interruption.requested()) return WaitEnd::kInterrupted;
    const std::chrono::nanoseconds most = deadline.left(kLongSleep);
    futexWait(reached_, seen, interruptible ? interruption.nap(most) : most);
  }
}

bool Stream::isIdle() noexcept {
  const uint64_t count = tail_.load(std::memory_order_relaxed);
  if (completed_.load(std::memory_order_acquire) >= count) return true;
  return announcing_.load() >= count &&
         waitCompleted(count, Deadline::never()) == WaitEnd::kReached;
}

aclError Stream::awaitTasks(Deadline deadline) noexcept {
  if (running() == this) {
    return fail(ACL_ERROR_RT_STREAM_CONTEXT, "a task cannot wait for the stream that runs it");
  }
  switch (waitCompleted(tail_.load(std::memory_order_acquire), deadline, /*interruptible=*/true)) {
    case WaitEnd::kReached:
      return ACL_SUCCESS;
    case WaitEnd::kInterrupted:
      return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "the wait for the stream was interrupted");
    default:
      return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                  "the stream's tasks did not finish within the timeout");
  }
}

aclError Stream::synchronize(Deadline deadline) noexcept {
  if (const aclError code = awaitTasks(deadline); code != ACL_SUCCESS) return code;
  StreamFailure failure = takeFailure();
  return failure.code == ACL_SUCCESS ? ACL_SUCCESS : fail(failure.code, std::move(failure.message));
}

StreamFailure Stream::takeFailure() noexcept {
  std::lock_guard lock(mutex_);
  // A stopped stream keeps its failure: it is why new tasks are refused.
  if ((flags_.load() & kStopped) != 0) return failure_;
  return std::exchange(failure_, {});
}

// ---- Ends ----------------------------------------------------------------------------------

void Stream::abort() noexcept {
  flags_.fetch_or(kAborting);
  if (running() != this) waitCompleted(tail_.load(), Deadline::never());
  std::lock_guard lock(mutex_);
  failure_ = {};
  flags_.fetch_and(~static_cast<uint32_t>(kAborting | kStopped));
}

void Stream::setStopOnFailure(bool stop) noexcept {
  std::lock_guard lock(mutex_);
  if (stop) {
    flags_.fetch_or(kStopOnFailure);
    if (failure_.code != ACL_SUCCESS) flags_.fetch_or(kStopped);
  } else {
    flags_.fetch_and(~static_cast<uint32_t>(kStopOnFailure | kStopped));
  }
}

aclError Stream::close(bool drop_tasks) noexcept {
  uint32_t alive = kMagic;
  if (!magic_.compare_exchange_strong(alive, 0)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "the stream has been destroyed already");
  }
  if (drop_tasks) flags_.fetch_or(kAborting);
  flags_.fetch_or(kClosing);
  waitCompleted(tail_.load(), Deadline::never());
  requestStop();
  if (worker_exists_) pthread_join(worker_, nullptr);
  worker_exists_ = false;
  std::lock_guard lock(pool().mutex);
  pool().free.push_back(this);
  return ACL_SUCCESS;
}

void Stream::requestStop() noexcept {
  flags_.fetch_or(kAborting);
  stop_requested_.store(true);
  asleep_.store(0);
  futexWake(asleep_);
}

bool Stream::waitStopped(Deadline deadline) noexcept {
  if (!worker_exists_ || running() == this) return true;
  while (stopped_.load() == 0) {
    if (deadline.passed()) return false;
    futexWait(stopped_, 0, deadline.left(kLongSleep));
  }
  // It has nothing left to do but to return.
  pthread_join(worker_, nullptr);
  worker_exists_ = false;
  return true;
}

// ---- The contract of task.h ----------------------------------------------------------------

aclError enqueue(aclrtStream handle, const TaskType* type, void* payload) noexcept {
  Stream* stream = nullptr;
  const aclError code = resolveStream(handle, stream);
  if (__builtin_expect(code != ACL_SUCCESS, 0)) {
    type->release(payload);
    return code;
  }
  return stream->enqueue(type, payload);
}

}  // namespace softcann
