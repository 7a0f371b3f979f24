// Events: marks in a stream that other streams and the host can wait for.
//
// NPUEvent owns one AscendCL event, created by its first record() on the device of that stream.
// It can be recorded again, on the same device only; any stream may wait for it. Not thread-safe
// for concurrent record(). The functions of `event` are what NPUEvent and the device guard share.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdint>
#include <string>
#include <utility>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

namespace event {

// Of a c10::Event that is shared with other processes: its first record() records nothing, it takes
// over the event of the Adoption that is in force.
constexpr auto kShared = static_cast<c10::EventFlag>(16);

// Hands an event to a c10::Event with kShared, on the calling thread.
class C10_EXPORT Adoption {
 public:
  explicit Adoption(aclrtEvent event) noexcept;
  ~Adoption();  // destroys the event if nobody has taken it
  Adoption(const Adoption&) = delete;
  Adoption& operator=(const Adoption&) = delete;
  // Throws where none is in force.
  static aclrtEvent take();
};

// A new event that other processes may open, on the current device.
C10_EXPORT aclrtEvent createShared();
// The handle by which they do, ACL_IPC_EVENT_HANDLE_SIZE bytes.
C10_EXPORT std::string sharedHandle(aclrtEvent event);
// The event with that handle, on the current device.
C10_EXPORT aclrtEvent openShared(const std::string& handle);

// On the calling thread's context. ACL_EVENT_TIME_LINE makes elapsed times available.
C10_EXPORT aclrtEvent create(bool enable_timing);
// Ignores errors, also those of a runtime that has ended or that belongs to a parent process.
C10_EXPORT void destroy(aclrtEvent event) noexcept;
C10_EXPORT bool query(aclrtEvent event);
C10_EXPORT void synchronize(aclrtEvent event);
// In milliseconds. Both must have been created with timing and have completed.
C10_EXPORT double elapsedTime(aclrtEvent start, aclrtEvent end);
// When it completed, in microseconds of the device's clock. It must have been created with timing
// and recorded; waits for it.
C10_EXPORT uint64_t completionTime(aclrtEvent event);

}  // namespace event

class C10_EXPORT NPUEvent {
 public:
  explicit NPUEvent(bool enable_timing = false) noexcept : enable_timing_(enable_timing) {}
  ~NPUEvent() { event::destroy(event_); }

  NPUEvent(const NPUEvent&) = delete;
  NPUEvent& operator=(const NPUEvent&) = delete;
  NPUEvent(NPUEvent&& other) noexcept { swap(other); }
  NPUEvent& operator=(NPUEvent&& other) noexcept {
    swap(other);
    return *this;
  }

  aclrtEvent event() const noexcept { return event_; }
  bool isCreated() const noexcept { return event_ != nullptr; }
  bool wasRecorded() const noexcept { return was_recorded_; }
  // -1 before the first record.
  DeviceIndex device_index() const noexcept { return device_index_; }

  void record() { record(getCurrentNPUStream()); }
  void record(const NPUStream& stream);
  void recordOnce(const NPUStream& stream) {
    if (!was_recorded_) record(stream);
  }

  // Makes later work of `stream` wait. Nothing to wait for before the first record, as for the
  // three below.
  void block(const NPUStream& stream) const;
  bool query() const;
  void synchronize() const;

  // Milliseconds from this event to `end`; waits for both.
  double elapsed_time(const NPUEvent& end) const;

 private:
  void swap(NPUEvent& other) noexcept {
    std::swap(event_, other.event_);
    std::swap(device_index_, other.device_index_);
    std::swap(enable_timing_, other.enable_timing_);
    std::swap(was_recorded_, other.was_recorded_);
  }

  aclrtEvent event_ = nullptr;
  DeviceIndex device_index_ = -1;
  bool enable_timing_ = false;
  bool was_recorded_ = false;
};

}  // namespace torch_npu
