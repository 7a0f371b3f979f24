#include "runtime/core/notify.h"

#include <mutex>
#include <vector>

#include "runtime/core/ipc_service.h"
#include "runtime/core/notify_board.h"

namespace softcann {
namespace {

constexpr std::chrono::microseconds kNotifySpin(20);
// How often a waiting stream looks whether it is being aborted.
constexpr std::chrono::milliseconds kAbortCheck(20);

struct NotifyPool {
  std::mutex mutex;
  std::vector<Notify*> free;
  uint32_t next_id = 0;
};

NotifyPool& pool() {
  static auto* pool = new NotifyPool;
  return *pool;
}

uint32_t written(uint32_t before, aclrtCntNotifyRecordInfo how) noexcept {
  switch (how.mode) {
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
      return before + how.value;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
      return before | how.value;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
      return before & how.value;
    default:
      return how.value;
  }
}

}  // namespace

bool NotifyWait::isMetBy(uint32_t now) const noexcept {
  switch (mode) {
    case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
      return now < value;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
      return now == value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
      return now > value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
      return now >= value;
    default:
      return (now & value) == value;
  }
}

// The tasks that notifies put into streams.
struct NotifyTasks {
  struct Record {
    Notify* notify;
    aclrtCntNotifyRecordInfo how;
  };
  struct Wait {
    Notify* notify;
    NotifyWait what;
  };

  static aclError runRecord(void* payload) noexcept {
    const auto* task = static_cast<Record*>(payload);
    task->notify->write(task->how);
    return ACL_SUCCESS;
  }

  static aclError runWait(void* payload) noexcept {
    const auto* task = static_cast<Wait*>(payload);
    switch (task->notify->await(task->what, Stream::running())) {
      case WaitEnd::kReached:
        return ACL_SUCCESS;
      case WaitEnd::kInterrupted:
        setTaskError("the wait for the notify was interrupted");
        return ACL_ERROR_RT_TASK_TIMEOUT;
      default:
        break;
    }
    setTaskError("the notify was not recorded within " +
                 std::to_string(task->what.timeout_seconds) + " s");
    return ACL_ERROR_RT_TASK_TIMEOUT;
  }

  template <class Task>
  static void release(void* payload) noexcept {
    auto* task = static_cast<Task*>(payload);
    task->notify->drop();
    delete task;
  }

  static constexpr TaskType kRecord = {"aclrtRecordNotify", runRecord, release<Record>};
  static constexpr TaskType kWait = {"aclrtWaitAndResetNotify", runWait, release<Wait>};
};

Notify* Notify::take(Kind kind) {
  Notify* notify = nullptr;
  {
    std::lock_guard lock(pool().mutex);
    if (!pool().free.empty()) {
      notify = pool().free.back();
      pool().free.pop_back();
    } else {
      notify = new Notify;
    }
    notify->id_ = pool().next_id++;
    notify->key_.clear();
  }
  notify->references_ = 1;
  notify->magic_ = static_cast<uint32_t>(kind);
  return notify;
}

Notify* Notify::open(Kind kind) {
  NotifyBoard* board = nullptr;
  NotifySlot* slot = NotifyBoard::takeSlot(&board);
  if (slot == nullptr) return nullptr;
  Notify* notify = take(kind);
  notify->slot_ = slot;
  notify->board_ = board;
  notify->imported_ = false;
  return notify;
}

Notify* Notify::import(const std::string& key) {
  NotifySlot* slot = NotifyBoard::importSlot(key);
  if (slot == nullptr) return nullptr;
  Notify* notify = take(Kind::kPlain);
  notify->slot_ = slot;
  notify->board_ = nullptr;
  notify->imported_ = true;
  return notify;
}

aclError Notify::close(Kind kind) noexcept {
  auto alive = static_cast<uint32_t>(kind);
  if (!magic_.compare_exchange_strong(alive, 0)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "the notify has been destroyed already");
  }
  drop();
  return ACL_SUCCESS;
}

void Notify::drop() noexcept {
  if (references_.fetch_sub(1) != 1) return;
  if (imported_) {
    NotifyBoard::releaseImport(slot_);
  } else {
    const bool exported = !key_.empty();
    if (exported) withdrawExport(key_);
    board_->giveBack(slot_, /*reusable=*/!exported);
  }
  std::lock_guard lock(pool().mutex);
  pool().free.push_back(this);
}

aclError Notify::exportKey(bool admits_all, std::string* key) {
  std::lock_guard lock(pool().mutex);
  if (imported_) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtNotifyGetExportKey: the notify belongs to another process, which exports it");
  }
  if (key_.empty()) {
    const aclError code = NotifyBoard::publish(board_, slot_, admits_all, &key_);
    if (code != ACL_SUCCESS) return code;
  }
  *key = key_;
  return ACL_SUCCESS;
}

aclError Notify::record(Stream* stream, aclrtCntNotifyRecordInfo how) {
  auto* task = new NotifyTasks::Record{this, how};
  retain();
  return stream->enqueue(&NotifyTasks::kRecord, task);
}

aclError Notify::waitIn(Stream* stream, const NotifyWait& wait) {
  auto* task = new NotifyTasks::Wait{this, wait};
  retain();
  return stream->enqueue(&NotifyTasks::kWait, task);
}

void Notify::reset() noexcept { write({ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 0}); }

void Notify::write(aclrtCntNotifyRecordInfo how) noexcept {
  uint32_t before = slot_->value.load();
  while (!slot_->value.compare_exchange_weak(before, written(before, how))) {
  }
  if (slot_->sleepers.load() != 0) futexWake(slot_->value, INT_MAX, FutexScope::kMachine);
}

bool Notify::tryPass(const NotifyWait& wait) noexcept {
  uint32_t now = slot_->value.load();
  while (wait.isMetBy(now)) {
    if (!wait.clears) return true;
    if (slot_->value.compare_exchange_weak(now, 0)) {
      // Others may wait for a small number.
      if (slot_->sleepers.load() != 0) futexWake(slot_->value, INT_MAX, FutexScope::kMachine);
      return true;
    }
  }
  return false;
}

WaitEnd Notify::await(const NotifyWait& wait, const Stream* waiting) noexcept {
  const Deadline deadline =
      Deadline::afterMilliseconds(wait.timeout_seconds == 0 ? -1 : wait.timeout_seconds * 1000LL);
  if (spinUntil(kNotifySpin, [&]() noexcept { return tryPass(wait); })) return WaitEnd::kReached;
  slot_->sleepers.fetch_add(1);
  WaitEnd result = WaitEnd::kReached;
  WaitInterruption interruption;
  for (;;) {
    const uint32_t seen = slot_->value.load();
    if (tryPass(wait) || (waiting != nullptr && waiting->isAborting())) break;
    if (deadline.passed()) {
      result = WaitEnd::kTimedOut;
      break;
    }
    if (interruption.requested()) {
      result = WaitEnd::kInterrupted;
      break;
    }
    futexWait(slot_->value, seen, deadline.left(kAbortCheck), FutexScope::kMachine);
  }
  slot_->sleepers.fetch_sub(1);
  return result;
}

}  // namespace softcann
