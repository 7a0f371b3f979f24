// The state of an event that several processes use: a page of shared memory.
//
// Recordings are numbered as those of other events are. While a process has a recording under way
// it holds a lock on the byte of that number in the page's file, which the kernel drops with the
// process. So whoever waits can tell that the recording will never be reached.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "acl/acl_base.h"

namespace softcann {

// What waiting for an event needs; of a shared event, in the shared page.
struct EventState {
  // Recordings are numbered; completed (a futex) is the latest that has been reached.
  std::atomic<uint32_t> recorded{0};
  std::atomic<uint32_t> completed{0};
  std::atomic<uint32_t> sleepers{0};
};

class SharedEvent : public std::enable_shared_from_this<SharedEvent> {
 public:
  // Null with the error text set.
  static std::shared_ptr<SharedEvent> create();
  // The event with this handle: of another process, or one that this process has open already.
  static std::shared_ptr<SharedEvent> open(const std::string& handle);
  ~SharedEvent();

  EventState& state() noexcept { return *state_; }
  // The handle by which others can open it, made at the first call.
  aclError handle(std::string* handle);

  // Takes the next number; none, with the error text set, if the kernel has no lock left.
  std::optional<uint32_t> beginRecording();
  // It was reached or dropped, and state().completed says so.
  void endRecording(uint32_t number) noexcept;
  // Whether the recording is not reached and the process that had it under way has ended.
  bool isOrphaned(uint32_t number) noexcept;

 private:
  static std::shared_ptr<SharedEvent> map(int fd);

  int fd_ = -1;
  EventState* state_ = nullptr;
  std::mutex mutex_;
  std::string handle_;
  std::set<uint32_t> under_way_;  // in this process
};

}  // namespace softcann
