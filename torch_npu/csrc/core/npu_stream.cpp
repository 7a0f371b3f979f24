#include "torch_npu/csrc/core/npu_stream.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/host_wait.h"
#include "torch_npu/csrc/core/sync_debug.h"

namespace torch_npu {
namespace {

constexpr uint32_t kStreamFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC;

// CANN numbers priorities upwards from 0, the highest.
constexpr int kLeastCannPriority = 7;
constexpr int kGreatestCannPriority = 0;

struct CannPriorities {
  int least = kLeastCannPriority;
  int greatest = kGreatestCannPriority;
  int levels() const { return std::min(least - greatest + 1, kMaxStreamPriorities); }
};

struct DeviceStreams {
  std::mutex mutex;  // creation of streams
  std::atomic<aclrtStream> default_stream{nullptr};
  std::array<std::array<std::atomic<aclrtStream>, kStreamsPerPool>, kMaxStreamPriorities> pools{};
  std::array<std::atomic<uint32_t>, kMaxStreamPriorities> next{};
};

// Zero-initialised static storage that is never destroyed; streams outlive every user.
constinit DeviceStreams device_streams[kMaxDevices];

// The calling thread's current streams. The array exists only in threads that have chosen a
// stream; nullptr means the default stream on every device.
__attribute__((tls_model("initial-exec"))) constinit thread_local c10::StreamId* current_ids =
    nullptr;

struct CurrentIdsOwner {
  std::unique_ptr<c10::StreamId[]> ids = std::make_unique<c10::StreamId[]>(kMaxDevices);
  CurrentIdsOwner() { current_ids = ids.get(); }
  ~CurrentIdsOwner() { current_ids = nullptr; }
};

c10::StreamId* currentIds() {
  if (current_ids == nullptr) {
    thread_local CurrentIdsOwner owner;
    // After the owner's destructor, late in thread exit, there is nothing to set.
    TORCH_CHECK(current_ids != nullptr, "cannot set the NPU stream of a thread that is ending");
  }
  return current_ids;
}

bool isPooled(c10::StreamId id) { return (id & 1) != 0; }
int levelOf(c10::StreamId id) { return static_cast<int>((id >> 1) & 0x7); }
int indexOf(c10::StreamId id) { return static_cast<int>(id >> 4); }
c10::StreamId pooledId(int level, int index) {
  return (static_cast<c10::StreamId>(index) << 4) | (static_cast<c10::StreamId>(level) << 1) | 1;
}

NPUStream makeStream(DeviceIndex device, c10::StreamId id) {
  return NPUStream(
      NPUStream::UNCHECKED,
      c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, device), id));
}

// All devices of a machine are of one kind, so the range is asked once.
const CannPriorities& cannPriorities() {
  static const CannPriorities range = [] {
    CannPriorities result;
    ensureAnyContext();
    if (acl::api().aclrtDeviceGetStreamPriorityRange != nullptr) {
      int32_t least = 0;
      int32_t greatest = 0;
      NPU_CHECK(acl::api().aclrtDeviceGetStreamPriorityRange(&least, &greatest));
      result = {least, greatest};
    }
    return result;
  }();
  return range;
}

aclrtStream createStream(int level) {
  const auto& range = cannPriorities();
  const int priority = std::max(range.least - level, range.greatest);
  aclrtStream created = nullptr;
  NPU_CHECK(acl::api().aclrtCreateStreamWithConfig(&created, static_cast<uint32_t>(priority),
                                                   kStreamFlags));
  return created;
}

// The context's own default stream where CANN can name it: work that another library enqueues
// with a null stream is then ordered with PyTorch's.
aclrtStream findDefaultStream() {
  aclrtStream found = nullptr;
  using GetDefaultStream = decltype(&aclrtCtxGetCurrentDefaultStream);
  const auto get_default =
      reinterpret_cast<GetDefaultStream>(acl::runtimeSymbol("aclrtCtxGetCurrentDefaultStream"));
  if (get_default != nullptr && get_default(&found) == ACL_SUCCESS && found != nullptr) {
    return found;
  }
  return createStream(0);
}

// Creates what `slot` holds, once. The calling thread's context is on the slot's device.
template <typename Create>
C10_NOINLINE aclrtStream fillSlot(DeviceIndex device, std::atomic<aclrtStream>& slot,
                                  Create create) {
  std::lock_guard<std::mutex> lock(device_streams[device].mutex);
  aclrtStream stream = slot.load(std::memory_order_relaxed);
  if (stream == nullptr) {
    stream = create();
    slot.store(stream, std::memory_order_release);
  }
  return stream;
}

// The id of a handle that one of our own streams has; null is the default stream in AscendCL too.
std::optional<c10::StreamId> ownStreamId(DeviceIndex device, aclrtStream handle) {
  const auto& streams = device_streams[device];
  if (handle == nullptr || handle == streams.default_stream.load(std::memory_order_acquire)) {
    return 0;
  }
  for (int level = 0; level < kMaxStreamPriorities; ++level) {
    for (int index = 0; index < kStreamsPerPool; ++index) {
      const auto& slot = streams.pools[static_cast<size_t>(level)][static_cast<size_t>(index)];
      if (slot.load(std::memory_order_acquire) == handle) {
        return pooledId(level, index);
      }
    }
  }
  return std::nullopt;
}

DeviceIndex resolveDevice(DeviceIndex device) {
  if (device < 0) return currentDevice();
  if (C10_UNLIKELY(device >= kMaxDevices)) checkDeviceIndex(device);
  return device;
}

}  // namespace

aclrtStream NPUStream::stream() const {
  const DeviceIndex device = resolveDevice(device_index());
  ensureContext(device);
  const c10::StreamId stream_id = id();
  auto& streams = device_streams[device];
  if (stream_id == 0) {
    const aclrtStream found = streams.default_stream.load(std::memory_order_acquire);
    if (C10_LIKELY(found != nullptr)) return found;
    return fillSlot(device, streams.default_stream, findDefaultStream);
  }
  if (!isPooled(stream_id)) return reinterpret_cast<aclrtStream>(stream_id);

  const int level = levelOf(stream_id);
  const int index = indexOf(stream_id);
  TORCH_CHECK(level < kMaxStreamPriorities && index >= 0 && index < kStreamsPerPool, "stream id ",
              stream_id, " does not name a stream of ", this->device());
  auto& slot = streams.pools[static_cast<size_t>(level)][static_cast<size_t>(index)];
  const aclrtStream found = slot.load(std::memory_order_acquire);
  if (C10_LIKELY(found != nullptr)) return found;
  return fillSlot(device, slot, [level] { return createStream(level); });
}

bool NPUStream::query() const {
  const aclrtStream handle = stream();
  TORCH_CHECK_NOT_IMPLEMENTED(acl::api().aclrtStreamQuery != nullptr,
                              "this CANN lacks aclrtStreamQuery: record an event in the stream and "
                              "query that instead");
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  NPU_CHECK(acl::api().aclrtStreamQuery(handle, &status));
  return status == ACL_STREAM_STATUS_COMPLETE;
}

void NPUStream::synchronize() const {
  reportSynchronization();
  const aclrtStream handle = stream();
  const aclError code =
      interruptibly([handle] { return acl::api().aclrtSynchronizeStream(handle); });
  NPU_CHECK_CODE(code, "aclrtSynchronizeStream");
}

int NPUStream::priority() const {
  if (id() == 0) return 0;
  if (isPooled(id())) return -levelOf(id());
  const aclrtStream handle = stream();
  TORCH_CHECK_NOT_IMPLEMENTED(acl::api().aclrtStreamGetPriority != nullptr,
                              "this CANN cannot tell the priority of an external stream: it lacks "
                              "aclrtStreamGetPriority");
  uint32_t cann_priority = 0;
  NPU_CHECK(acl::api().aclrtStreamGetPriority(handle, &cann_priority));
  return std::min(0, static_cast<int>(cann_priority) - cannPriorities().least);
}

bool NPUStream::is_capturing() const {
  if (!isInitialized()) return false;
  const auto get_info = acl::api().aclmdlRICaptureGetInfo;
  if (get_info == nullptr) return false;
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  aclmdlRI model = nullptr;
  const aclError code = get_info(stream(), &status, &model);
  // A CANN without graphs captures nothing.
  if (code == ACL_ERROR_API_NOT_SUPPORT || code == ACL_ERROR_RT_FEATURE_NOT_SUPPORT) {
    return false;
  }
  NPU_CHECK(code);
  return status != ACL_MODEL_RI_CAPTURE_STATUS_NONE;
}

std::pair<int, int> NPUStream::priority_range() { return {0, 1 - cannPriorities().levels()}; }

NPUStream getCurrentNPUStream(DeviceIndex device) {
  device = resolveDevice(device);
  return makeStream(device, current_ids == nullptr ? 0 : current_ids[device]);
}

NPUStream getDefaultNPUStream(DeviceIndex device) { return makeStream(resolveDevice(device), 0); }

NPUStream getNPUStreamFromPool(int priority, DeviceIndex device) {
  device = resolveDevice(device);
  ensureContext(device);
  const int level = std::clamp(-priority, 0, cannPriorities().levels() - 1);
  auto& next = device_streams[device].next[static_cast<size_t>(level)];
  const uint32_t turn = next.fetch_add(1, std::memory_order_relaxed);
  return makeStream(device, pooledId(level, static_cast<int>(turn % kStreamsPerPool)));
}

NPUStream getNPUStreamFromExternal(aclrtStream stream, DeviceIndex device) {
  const auto id = reinterpret_cast<c10::StreamId>(stream);
  TORCH_CHECK((id & 1) == 0, "not a stream handle: ", id);
  device = resolveDevice(device);
  return makeStream(device, ownStreamId(device, stream).value_or(id));
}

void setCurrentNPUStream(NPUStream stream) {
  const DeviceIndex device = stream.device_index();
  checkDeviceIndex(device);
  if (current_ids == nullptr && stream.id() == 0) return;
  currentIds()[device] = stream.id();
}

std::ostream& operator<<(std::ostream& out, const NPUStream& stream) {
  return out << stream.unwrap();
}

}  // namespace torch_npu
