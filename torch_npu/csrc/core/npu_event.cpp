#include "torch_npu/csrc/core/npu_event.h"

#include <c10/util/Exception.h>

#include <cstring>
#include <utility>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/host_wait.h"

namespace torch_npu {
namespace event {

aclrtEvent create(bool enable_timing) {
  const uint32_t flags = enable_timing ? (ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE) : ACL_EVENT_SYNC;
  aclrtEvent created = nullptr;
  // The extended form's events need no reset between two records and are not limited in number.
  if (acl::api().aclrtCreateEventExWithFlag != nullptr) {
    NPU_CHECK(acl::api().aclrtCreateEventExWithFlag(&created, flags));
  } else {
    NPU_CHECK(acl::api().aclrtCreateEventWithFlag(&created, flags));
  }
  return created;
}

namespace {
thread_local aclrtEvent to_adopt = nullptr;
}  // namespace

Adoption::Adoption(aclrtEvent event) noexcept { to_adopt = event; }

Adoption::~Adoption() { destroy(std::exchange(to_adopt, nullptr)); }

aclrtEvent Adoption::take() {
  TORCH_CHECK(to_adopt != nullptr,
              "this torch.Event is not one of npu's shared events: make it with "
              "torch.npu.Event(interprocess=True)");
  return std::exchange(to_adopt, nullptr);
}

aclrtEvent createShared() {
  const acl::RuntimeApi& api = acl::api();
  TORCH_CHECK_NOT_IMPLEMENTED(
      api.aclrtIpcGetEventHandle != nullptr && api.aclrtCreateEventExWithFlag != nullptr,
      "this CANN lacks aclrtIpcGetEventHandle: synchronize the stream before another process uses "
      "its results");
  ensureContext(currentDevice());
  aclrtEvent created = nullptr;
  NPU_CHECK(api.aclrtCreateEventExWithFlag(&created, ACL_EVENT_IPC));
  return created;
}

std::string sharedHandle(aclrtEvent event) {
  aclrtIpcEventHandle handle;
  NPU_CHECK(acl::api().aclrtIpcGetEventHandle(event, &handle));
  return {handle.reserved, sizeof(handle.reserved)};
}

aclrtEvent openShared(const std::string& text) {
  aclrtIpcEventHandle handle = {};
  TORCH_CHECK_VALUE(text.size() <= sizeof(handle.reserved), "the handle of an event has ",
                    sizeof(handle.reserved), " bytes, not ", text.size(), ": '", text, "'");
  TORCH_CHECK_NOT_IMPLEMENTED(acl::api().aclrtIpcOpenEventHandle != nullptr,
                              "this CANN lacks aclrtIpcOpenEventHandle: let the other process "
                              "synchronize its stream");
  std::memcpy(handle.reserved, text.data(), text.size());
  ensureContext(currentDevice());
  aclrtEvent opened = nullptr;
  NPU_CHECK(acl::api().aclrtIpcOpenEventHandle(handle, &opened));
  return opened;
}

void destroy(aclrtEvent event) noexcept {
  if (event == nullptr || !isInitialized()) return;
  (void)acl::api().aclrtDestroyEvent(event);
}

bool query(aclrtEvent event) {
  ensureAnyContext();
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  NPU_CHECK(acl::api().aclrtQueryEventStatus(event, &status));
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void synchronize(aclrtEvent event) {
  ensureAnyContext();
  const aclError code = interruptibly([event] { return acl::api().aclrtSynchronizeEvent(event); });
  NPU_CHECK_CODE(code, "aclrtSynchronizeEvent");
}

double elapsedTime(aclrtEvent start, aclrtEvent end) {
  ensureAnyContext();
  float milliseconds = 0.0F;
  NPU_CHECK(acl::api().aclrtEventElapsedTime(&milliseconds, start, end));
  return milliseconds;
}

uint64_t completionTime(aclrtEvent event) {
  const acl::RuntimeApi& api = acl::api();
  TORCH_CHECK_NOT_IMPLEMENTED(
      api.aclrtEventGetTimestamp != nullptr,
      "this CANN lacks aclrtEventGetTimestamp: measure with elapsed_time() of two events");
  synchronize(event);
  uint64_t microseconds = 0;
  NPU_CHECK(api.aclrtEventGetTimestamp(event, &microseconds));
  return microseconds;
}

}  // namespace event

void NPUEvent::record(const NPUStream& stream) {
  TORCH_CHECK(device_index_ < 0 || device_index_ == stream.device_index(),
              "Event device npu:", static_cast<int>(device_index_),
              " does not match the recording stream's device npu:",
              static_cast<int>(stream.device_index()));
  const aclrtStream handle = stream.stream();
  if (event_ == nullptr) {
    event_ = event::create(enable_timing_);
    device_index_ = stream.device_index();
  }
  NPU_CHECK(acl::api().aclrtRecordEvent(event_, handle));
  was_recorded_ = true;
}

void NPUEvent::block(const NPUStream& stream) const {
  if (!was_recorded_) return;
  const aclrtStream handle = stream.stream();
  NPU_CHECK(acl::api().aclrtStreamWaitEvent(handle, event_));
}

bool NPUEvent::query() const { return !was_recorded_ || event::query(event_); }

void NPUEvent::synchronize() const {
  if (was_recorded_) event::synchronize(event_);
}

double NPUEvent::elapsed_time(const NPUEvent& end) const {
  TORCH_CHECK_VALUE(enable_timing_ && end.enable_timing_,
                    "Both events must be created with argument 'enable_timing=True'.");
  TORCH_CHECK_VALUE(was_recorded_ && end.was_recorded_,
                    "Both events must be recorded before calculating elapsed time.");
  synchronize();
  end.synchronize();
  return event::elapsedTime(event_, end.event_);
}

}  // namespace torch_npu
