// Notify: a number that tasks of streams write and await, in the order of their streams. A plain
// notify holds 0 or 1: recording sets it, and a wait passes when it is set and takes it back, so
// that each recording lets one wait pass. A counting notify holds 32 bits.
//
// Unlike an event, a notify knows nothing of earlier calls: a wait may be enqueued before the
// recording, and in another process. A recording that was dropped with its stream's tasks sets
// nothing.
//
// The numbers lie in shared memory (Note [Boards]), and waiting is done on the number itself.
// Notifies are recycled and never unmapped, as streams are; tasks in flight hold a reference.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/core/stream.h"

namespace softcann {

// What a wait awaits and what it leaves behind.
struct NotifyWait {
  aclrtCntNotifyWaitMode mode;
  uint32_t value;
  bool clears;
  uint32_t timeout_seconds;  // 0: no limit

  bool isMetBy(uint32_t now) const noexcept;
};

class NotifyBoard;

// Where a notify's number lies.
struct NotifySlot {
  std::atomic<uint32_t> value{0};  // futex, for all processes that map the board
  std::atomic<uint32_t> sleepers{0};
};

class Notify {
 public:
  enum class Kind : uint32_t { kPlain = 0x4e544659, kCounting = 0x434e5446 };

  // Null with the error text set.
  static Notify* open(Kind kind);
  // A plain notify of another process; null with the error text set.
  static Notify* import(const std::string& key);
  static Notify* fromHandle(void* handle) noexcept { return static_cast<Notify*>(handle); }
  void* toHandle() noexcept { return this; }
  bool isAlive(Kind kind) const noexcept {
    return magic_.load(std::memory_order_relaxed) == static_cast<uint32_t>(kind);
  }
  aclError close(Kind kind) noexcept;

  aclError record(Stream* stream, aclrtCntNotifyRecordInfo how);
  aclError waitIn(Stream* stream, const NotifyWait& wait);
  // At once, in the calling thread.
  void reset() noexcept;
  uint32_t id() const noexcept { return id_; }

  // The key by which other processes import the notify, made at the first call, which also says
  // whether all processes of the user may.
  aclError exportKey(bool admits_all, std::string* key);
  // Empty if it is not exported.
  const std::string& key() const noexcept { return key_; }

 private:
  friend struct NotifyTasks;

  static Notify* take(Kind kind);
  bool tryPass(const NotifyWait& wait) noexcept;
  void write(aclrtCntNotifyRecordInfo how) noexcept;
  WaitEnd await(const NotifyWait& wait, const Stream* waiting) noexcept;
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept;

  std::atomic<uint32_t> magic_{0};
  std::atomic<uint32_t> references_{0};
  NotifySlot* slot_ = nullptr;
  NotifyBoard* board_ = nullptr;
  bool imported_ = false;
  uint32_t id_ = 0;
  std::string key_;  // guarded by the pool's mutex
};

}  // namespace softcann
