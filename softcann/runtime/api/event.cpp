// Events, and values in device memory that streams write and await.
#include "runtime/core/event.h"

#include "runtime/api/checks.h"
#include "runtime/core/error_state.h"
#include "runtime/core/operation_timeout.h"
#include "runtime/core/stream_value.h"

using namespace softcann;

namespace {

aclError createEvent(const char* function, aclrtEvent* event, uint32_t flags) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "event", event));
    if (flags == ACL_EVENT_IPC) {
      std::shared_ptr<SharedEvent> shared = SharedEvent::create();
      if (shared == nullptr) return lastError();
      *event = Event::open(flags, std::move(shared))->toHandle();
      return ACL_SUCCESS;
    }
    if ((flags & ACL_EVENT_IPC) != 0) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) +
                      ": ACL_EVENT_IPC cannot be combined with other flags, here " +
                      std::to_string(flags & ~ACL_EVENT_IPC));
    }
    if ((flags & ACL_EVENT_EXTERNAL) != 0 && flags != ACL_EVENT_EXTERNAL) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) +
                      ": ACL_EVENT_EXTERNAL cannot be combined with other flags, here " +
                      std::to_string(flags & ~ACL_EVENT_EXTERNAL));
    }
    constexpr uint32_t kKnown = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS |
                                ACL_EVENT_TIME_LINE | ACL_EVENT_DEVICE_USE_ONLY |
                                ACL_EVENT_EXTERNAL;
    if ((flags & ~kKnown) != 0) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) + ": unknown flags " + std::to_string(flags));
    }
    *event = Event::open(flags)->toHandle();
    return ACL_SUCCESS;
  });
}

// For the calls that CANN does not offer for events of several processes.
aclError ownEvent(const char* function, aclrtEvent handle, Event*& event) {
  SOFTCANN_TRY(liveEvent(function, handle, event));
  if (event->shared() == nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              std::string(function) +
                  ": not for events of several processes (ACL_EVENT_IPC); "
                  "aclrtQueryEventStatus() and aclrtSynchronizeEvent() are");
}

aclError checkTaskFlag(const char* function, uint32_t flag) {
  static_assert(ACL_EVENT_RECORD_EXTERNAL == ACL_EVENT_WAIT_EXTERNAL);
  if (flag == ACL_EVENT_RECORD_DEFAULT) return ACL_SUCCESS;
  if (flag == ACL_EVENT_RECORD_EXTERNAL) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                std::string(function) +
                    ": the flag for external events is for captured graphs, which are not there "
                    "yet; pass 0, with an event of ACL_EVENT_EXTERNAL");
  }
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string(function) + ": there is no flag " + std::to_string(flag));
}

aclError waitEvent(const char* function, aclrtStream stream_handle, aclrtEvent handle,
                   int32_t timeout_ms) {
  return entry([&]() -> aclError {
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent(function, handle, event));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(stream_handle, stream));
    return event->waitIn(stream, timeout_ms);
  });
}

aclError synchronizeEvent(const char* function, aclrtEvent handle, int32_t timeout_ms) {
  return entry([&]() -> aclError {
    if (timeout_ms < -1) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) + ": the timeout must be -1 or more");
    }
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent(function, handle, event));
    return event->synchronize(Deadline::afterMilliseconds(timeout_ms));
  });
}

}  // namespace

extern "C" {

aclError aclrtCreateEvent(aclrtEvent* event) {
  return createEvent("aclrtCreateEvent", event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag) {
  return createEvent("aclrtCreateEventWithFlag", event, flag);
}

aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag) {
  return createEvent("aclrtCreateEventExWithFlag", event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent handle) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent("aclrtDestroyEvent", handle, event));
    return event->close();
  });
}

aclError aclrtRecordEvent(aclrtEvent handle, aclrtStream stream_handle) {
  return entry([&]() -> aclError {
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent("aclrtRecordEvent", handle, event));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(stream_handle, stream));
    return event->record(stream);
  });
}

// The flags for external events concern tasks of captured graphs, and graphs cannot be captured
// yet.
aclError aclrtRecordEventWithFlag(aclrtEvent event, aclrtStream stream, uint32_t flag) {
  SOFTCANN_TRY(checkTaskFlag("aclrtRecordEventWithFlag", flag));
  return aclrtRecordEvent(event, stream);
}

aclError aclrtStreamWaitEventWithFlag(aclrtStream stream, aclrtEvent event, uint32_t timeout,
                                      uint32_t flag) {
  SOFTCANN_TRY(checkTaskFlag("aclrtStreamWaitEventWithFlag", flag));
  if (timeout > INT32_MAX) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtStreamWaitEventWithFlag: the timeout is beyond " + std::to_string(INT32_MAX));
  }
  // 0 waits as without a timeout.
  return waitEvent("aclrtStreamWaitEventWithFlag", stream, event,
                   timeout == 0 ? waitTimeoutMilliseconds() : static_cast<int32_t>(timeout));
}

aclError aclrtResetEvent(aclrtEvent handle, aclrtStream stream_handle) {
  return entry([&]() -> aclError {
    Event* event = nullptr;
    SOFTCANN_TRY(ownEvent("aclrtResetEvent", handle, event));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(stream_handle, stream));
    return event->reset(stream);
  });
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
  return waitEvent("aclrtStreamWaitEvent", stream, event, waitTimeoutMilliseconds());
}

aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  if (timeout < -1) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtStreamWaitEventWithTimeout: the timeout must be -1 or more");
  }
  return waitEvent("aclrtStreamWaitEventWithTimeout", stream, event, timeout);
}

aclError aclrtQueryEvent(aclrtEvent handle, aclrtEventStatus* status) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtQueryEvent", "status", status));
    Event* event = nullptr;
    SOFTCANN_TRY(ownEvent("aclrtQueryEvent", handle, event));
    *status = event->isComplete() ? ACL_EVENT_STATUS_COMPLETE : ACL_EVENT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus* status) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtQueryEventStatus", "status", status));
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent("aclrtQueryEventStatus", handle, event));
    if (!event->isComplete() && event->isOrphaned()) {
      return fail(ACL_ERROR_RT_IPC_ERROR,
                  "aclrtQueryEventStatus: the process that recorded the shared event has ended "
                  "before the event was reached");
    }
    *status = event->isComplete() ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                  : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtQueryEventWaitStatus(aclrtEvent handle, aclrtEventWaitStatus* status) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtQueryEventWaitStatus", "status", status));
    Event* event = nullptr;
    SOFTCANN_TRY(ownEvent("aclrtQueryEventWaitStatus", handle, event));
    *status =
        event->waitsArePassed() ? ACL_EVENT_WAIT_STATUS_COMPLETE : ACL_EVENT_WAIT_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
  return synchronizeEvent("aclrtSynchronizeEvent", event, -1);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout) {
  return synchronizeEvent("aclrtSynchronizeEventWithTimeout", event, timeout);
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtEventElapsedTime", "ms", ms));
    Event* start = nullptr;
    Event* end = nullptr;
    SOFTCANN_TRY(liveEvent("aclrtEventElapsedTime", startEvent, start));
    SOFTCANN_TRY(liveEvent("aclrtEventElapsedTime", endEvent, end));
    uint64_t from = 0;
    uint64_t to = 0;
    SOFTCANN_TRY(start->timestamp(&from));
    SOFTCANN_TRY(end->timestamp(&to));
    *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) / 1e6);
    return ACL_SUCCESS;
  });
}

aclError aclrtEventGetTimestamp(aclrtEvent handle, uint64_t* timestamp) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtEventGetTimestamp", "timestamp", timestamp));
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent("aclrtEventGetTimestamp", handle, event));
    uint64_t nanoseconds = 0;
    SOFTCANN_TRY(event->timestamp(&nanoseconds));
    *timestamp = nanoseconds / 1000;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetEventId(aclrtEvent handle, uint32_t* eventId) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetEventId", "eventId", eventId));
    Event* event = nullptr;
    SOFTCANN_TRY(ownEvent("aclrtGetEventId", handle, event));
    *eventId = event->id();
    return ACL_SUCCESS;
  });
}

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    if (flag != 0) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtValueWrite: the flag is reserved and must be 0");
    }
    return writeValue(devAddr, value, stream);
  });
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return waitValue(devAddr, value, flag, stream);
  });
}

}  // extern "C"
