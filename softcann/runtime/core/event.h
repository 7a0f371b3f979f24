// Event: a point in a stream. Recording captures what the stream has been given so far; waiting
// and querying refer to the latest recording at the time of the call, and an event that was never
// recorded is complete. An external event (ACL_EVENT_EXTERNAL) is a flag instead: complete from
// when a recording ran until a reset ran, and waited for until it is, whenever that is; it keeps no
// time. An event with a SharedEvent has its recordings there, in common with other processes, and
// keeps no time.
//
// Events are recycled and never unmapped, as streams are; tasks in flight hold a reference.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/core/shared_event.h"
#include "runtime/core/stream.h"

namespace softcann {

class Event {
 public:
  static Event* open(uint32_t flags, std::shared_ptr<SharedEvent> shared = nullptr);
  static Event* fromHandle(aclrtEvent handle) noexcept { return static_cast<Event*>(handle); }
  aclrtEvent toHandle() noexcept { return this; }
  bool isAlive() const noexcept { return magic_.load(std::memory_order_relaxed) == kMagic; }
  aclError close() noexcept;

  aclError record(Stream* stream);
  // Not of a shared event.
  aclError reset(Stream* stream);
  // Makes `stream` wait; -1 without limit. A wait that times out is a failure of the stream.
  aclError waitIn(Stream* stream, int32_t timeout_ms);
  bool isComplete() const noexcept;
  // Null unless other processes may use the event.
  SharedEvent* shared() const noexcept { return shared_.get(); }
  // Whether the latest recording will never be reached, because its process has ended.
  bool isOrphaned() const noexcept;
  bool waitsArePassed() const noexcept { return pending_waits_.load() == 0; }
  aclError synchronize(Deadline deadline) noexcept;

  // Of the latest recording; an error code if it has none, or is not complete.
  aclError timestamp(uint64_t* nanoseconds) const noexcept;
  uint32_t id() const noexcept { return id_; }
  uint32_t flags() const noexcept { return flags_; }

 private:
  static constexpr uint32_t kMagic = 0x45564e54;
  friend struct EventTasks;

  bool isExternal() const noexcept { return flags_ == ACL_EVENT_EXTERNAL; }
  // An external event's first recording, or the latest one.
  uint32_t awaited() const noexcept { return isExternal() ? 1 : state_->recorded.load(); }
  WaitEnd waitFor(uint32_t generation, Deadline deadline, const Stream* waiting) noexcept;
  void complete(uint32_t generation, uint64_t nanoseconds) noexcept;
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop() noexcept;
  FutexScope scope() const noexcept {
    return shared_ == nullptr ? FutexScope::kProcess : FutexScope::kMachine;
  }

  std::atomic<uint32_t> magic_{0};
  std::atomic<uint32_t> references_{0};
  EventState own_state_;
  EventState* state_ = &own_state_;
  std::shared_ptr<SharedEvent> shared_;
  std::atomic<uint32_t> pending_waits_{0};
  std::atomic<uint64_t> nanoseconds_{0};
  uint32_t flags_ = 0;
  uint32_t id_ = 0;
};

}  // namespace softcann
