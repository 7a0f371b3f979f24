// Events: marks in a stream that other streams and the host can wait for.
//
// NPUEvent owns one AscendCL event, created by its first record() on the device of that stream.
// It can be recorded again, on the same device only; any stream may wait for it. Not thread-safe
// for concurrent record(). The functions of `event` are what NPUEvent and the device guard share.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <utility>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

namespace event {

// On the calling thread's context. ACL_EVENT_TIME_LINE makes elapsed times available.
C10_EXPORT aclrtEvent create(bool enable_timing);
// Ignores errors, also those of a runtime that has ended or that belongs to a parent process.
C10_EXPORT void destroy(aclrtEvent event) noexcept;
C10_EXPORT bool query(aclrtEvent event);
C10_EXPORT void synchronize(aclrtEvent event);
// In milliseconds. Both must have been created with timing and have completed.
C10_EXPORT double elapsedTime(aclrtEvent start, aclrtEvent end);

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

  // Milliseconds from this event to `end`.
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
