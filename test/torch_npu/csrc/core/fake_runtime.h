// An AscendCL runtime that only counts, so that the backend's core can be tested without a CANN.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "torch_npu/csrc/acl/runtime_api.h"

namespace torch_npu::testing {

struct FakeRuntime {
  uint32_t device_count = 4;
  std::atomic<int> inits{0};
  std::atomic<int> created_streams{0};
  std::atomic<int> live_events{0};
  std::vector<int> set_devices;  // arguments of aclrtSetDevice, in order
  std::vector<uint32_t> priorities;
  std::vector<uint32_t> event_flags;
  std::set<void*> completed_events;
  int context = -1;

  static FakeRuntime& get() {
    static FakeRuntime runtime;
    return runtime;
  }
};

inline uintptr_t nextHandle() {
  static std::atomic<uintptr_t> next{0x1000};
  return next.fetch_add(0x10);
}

inline aclError fakeCreateStream(aclrtStream* stream, uint32_t priority, uint32_t /*flag*/) {
  *stream = reinterpret_cast<aclrtStream>(nextHandle());
  FakeRuntime::get().created_streams++;
  FakeRuntime::get().priorities.push_back(priority);
  return ACL_SUCCESS;
}

inline aclError fakeCreateEvent(aclrtEvent* event, uint32_t flag) {
  *event = reinterpret_cast<aclrtEvent>(nextHandle());
  FakeRuntime::get().live_events++;
  FakeRuntime::get().event_flags.push_back(flag);
  return ACL_SUCCESS;
}

inline const acl::RuntimeApi& fakeApi() {
  static const acl::RuntimeApi table = [] {
    acl::RuntimeApi api;
    api.aclInit = [](const char*) -> aclError {
      FakeRuntime::get().inits++;
      return ACL_SUCCESS;
    };
    api.aclGetRecentErrMsg = []() -> const char* { return "fake message"; };
    api.aclrtGetDeviceCount = [](uint32_t* count) -> aclError {
      *count = FakeRuntime::get().device_count;
      return ACL_SUCCESS;
    };
    api.aclrtSetDevice = [](int32_t device) -> aclError {
      FakeRuntime::get().set_devices.push_back(device);
      FakeRuntime::get().context = device;
      return ACL_SUCCESS;
    };
    api.aclrtSynchronizeDevice = []() -> aclError { return ACL_SUCCESS; };
    api.aclrtDeviceGetStreamPriorityRange = [](int32_t* least, int32_t* greatest) -> aclError {
      *least = 7;
      *greatest = 0;
      return ACL_SUCCESS;
    };
    api.aclrtCreateStreamWithConfig = fakeCreateStream;
    api.aclrtSynchronizeStream = [](aclrtStream) -> aclError { return ACL_SUCCESS; };
    api.aclrtStreamQuery = [](aclrtStream, aclrtStreamStatus* status) -> aclError {
      *status = ACL_STREAM_STATUS_COMPLETE;
      return ACL_SUCCESS;
    };
    api.aclrtCreateEventExWithFlag = fakeCreateEvent;
    api.aclrtDestroyEvent = [](aclrtEvent) -> aclError {
      FakeRuntime::get().live_events--;
      return ACL_SUCCESS;
    };
    api.aclrtRecordEvent = [](aclrtEvent, aclrtStream) -> aclError { return ACL_SUCCESS; };
    api.aclrtStreamWaitEvent = [](aclrtStream, aclrtEvent) -> aclError { return ACL_SUCCESS; };
    api.aclrtSynchronizeEvent = [](aclrtEvent event) -> aclError {
      FakeRuntime::get().completed_events.insert(event);
      return ACL_SUCCESS;
    };
    api.aclrtQueryEventStatus = [](aclrtEvent event, aclrtEventRecordedStatus* status) -> aclError {
      *status = FakeRuntime::get().completed_events.count(event) != 0
                    ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                    : ACL_EVENT_RECORDED_STATUS_NOT_READY;
      return ACL_SUCCESS;
    };
    api.aclrtEventElapsedTime = [](float* ms, aclrtEvent, aclrtEvent) -> aclError {
      *ms = 2.5F;
      return ACL_SUCCESS;
    };
    return api;
  }();
  return table;
}

// Binds the fake for the life of the test program.
struct UseFakeRuntime {
  UseFakeRuntime() { acl::bindForTesting(&fakeApi()); }
};
inline const UseFakeRuntime use_fake_runtime;

}  // namespace torch_npu::testing
