#include "torch_npu/csrc/core/npu_external_event.h"

#include <array>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/npu_guard.h"

namespace torch_npu {

namespace {

constexpr uint64_t kClear = 0;
constexpr uint64_t kSet = 1;

const acl::RuntimeApi& valueApi() {
  const acl::RuntimeApi& api = acl::api();
  TORCH_CHECK_NOT_IMPLEMENTED(
      api.aclrtValueWrite != nullptr && api.aclrtValueWait != nullptr,
      "this CANN lacks aclrtValueWrite: outside of captured graphs torch.npu.Event serves");
  return api;
}

// The stream that flags are allocated for. Nothing ever runs on it, so that a flag that comes back
// is touched by nobody once the streams that used it have got on.
NPUStream flagStream(DeviceIndex device) {
  static std::mutex mutex;
  static std::array<aclrtStream, kMaxDevices> streams{};  // they outlive every user
  ensureContext(device);
  const std::lock_guard lock(mutex);
  aclrtStream& stream = streams.at(static_cast<size_t>(device));
  if (stream == nullptr) {
    stream = acl::createStream(0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC).release();
  }
  return getNPUStreamFromExternal(stream, device);
}

c10::DataPtr allocateFlag(DeviceIndex device) {
  const NPUStreamGuard guard(flagStream(device).unwrap());
  c10::DataPtr flag = cachingAllocator()->allocate(sizeof(uint64_t));
  // Not in a stream: whichever it was might wait already, for a flag that is to be set later.
  NPU_CHECK(acl::api().aclrtMemset(flag.get(), sizeof(kClear), static_cast<int32_t>(kClear),
                                   sizeof(kClear)));
  return flag;
}

}  // namespace

void* NPUExternalEvent::flagFor(const NPUStream& stream) {
  const std::lock_guard lock(mutex_);
  if (flag_.get() == nullptr) {
    flag_ = allocateFlag(stream.device_index());
  }
  TORCH_CHECK(flag_.device() == stream.device(), "the event was first used on ", flag_.device(),
              ", the stream is on ", stream.device());
  // The memory outlives the work that looks at it, even where this object does not.
  cachingAllocator()->recordStream(flag_, stream.unwrap());
  return flag_.get();
}

void NPUExternalEvent::write(const NPUStream& stream, uint64_t value) {
  const acl::RuntimeApi& api = valueApi();
  void* flag = flagFor(stream);
  const aclrtStream handle = stream.stream();
  NPU_CHECK(api.aclrtValueWrite(flag, value, 0, handle));
}

void NPUExternalEvent::record(const NPUStream& stream) { write(stream, kSet); }

void NPUExternalEvent::reset(const NPUStream& stream) { write(stream, kClear); }

void NPUExternalEvent::wait(const NPUStream& stream) {
  const acl::RuntimeApi& api = valueApi();
  void* flag = flagFor(stream);
  const aclrtStream handle = stream.stream();
  NPU_CHECK(api.aclrtValueWait(flag, kSet, ACL_STREAM_WAIT_VALUE_EQ, handle));
}

const void* NPUExternalEvent::flag() const {
  const std::lock_guard lock(mutex_);
  return flag_.get();
}

}  // namespace torch_npu
