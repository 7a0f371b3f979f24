#include "torch_npu/csrc/core/npu_functions.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <type_traits>

#include "acl/acl.h"
#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/host_wait.h"

namespace torch_npu {
namespace {

constexpr DeviceIndex kNoContext = -1;

struct ThreadState {
  DeviceIndex device = 0;
  DeviceIndex context = kNoContext;
};

// Two bytes on every operator's path: the initial-exec model saves a call into the loader.
__attribute__((tls_model("initial-exec"))) constinit thread_local ThreadState thread_state;

// Trivially destructible: tensors with static lifetime are freed after this library's destructors.
struct ProcessState {
  std::mutex init_mutex;
  std::atomic<bool> initializing{false};
  std::atomic<bool> initialized{false};
  std::atomic<bool> bad_fork{false};
  std::atomic<DeviceIndex> device_count{0};  // valid once initialized
  std::array<std::atomic<bool>, kMaxDevices> has_context{};
};
static_assert(std::is_trivially_destructible_v<ProcessState>);
constinit ProcessState process;

// In the child of a fork only the forking thread exists. What it inherited (devices, worker
// threads, contexts, perhaps a locked init_mutex) belongs to the parent, so the next use must
// come to lazyInit() and fail there.
void markForkedChild() noexcept {
  if (process.initializing.load(std::memory_order_relaxed)) {
    process.bad_fork.store(true, std::memory_order_relaxed);
    acl::abandonHandles();
  }
  process.initialized.store(false, std::memory_order_relaxed);
  thread_state.context = kNoContext;
}

[[maybe_unused]] const int kForkHandlerResult = pthread_atfork(nullptr, nullptr, &markForkedChild);

DeviceIndex queryDeviceCount() noexcept {
  try {
    if (!acl::available()) return 0;
    uint32_t count = 0;
    if (acl::api().aclrtGetDeviceCount(&count) != ACL_SUCCESS) return 0;
    return static_cast<DeviceIndex>(std::min<uint32_t>(count, kMaxDevices));
  } catch (...) {
    return 0;
  }
}

void initializeRuntime() {
  TORCH_CHECK(
      acl::available(),
      "NPU is not available: libascendcl.so was not found; install the softcann package, or "
      "source the set_env.sh of a CANN installation (",
      acl::unavailableReason(), ")");
  installWaitHook();
  const aclError code = acl::api().aclInit(nullptr);
  // Another library of this process may have been first.
  if (code != ACL_ERROR_REPEAT_INITIALIZE) NPU_CHECK(code);
  uint32_t count = 0;
  NPU_CHECK(acl::api().aclrtGetDeviceCount(&count));
  TORCH_CHECK(count > 0,
              "No NPU devices are available: CANN reports 0 devices; check "
              "ASCEND_RT_VISIBLE_DEVICES and ASCEND_VISIBLE_DEVICES");
  process.device_count.store(static_cast<DeviceIndex>(std::min<uint32_t>(count, kMaxDevices)),
                             std::memory_order_relaxed);
}

// How long the end of a process waits for a device for which a wait was given up before.
constexpr int32_t kLastPatienceMs = 2000;

void finishDevice(DeviceIndex device) {
  const auto synchronize = acl::api().aclrtSynchronizeDeviceWithTimeout;
  if (!aWaitWasGivenUp() || synchronize == nullptr) {
    synchronizeDevice(device);
    return;
  }
  ensureContext(device);
  NPU_CHECK(synchronize(kLastPatienceMs));
}

C10_NOINLINE void switchContext(DeviceIndex device) {
  lazyInit();
  checkDeviceIndex(device);
  NPU_CHECK(acl::api().aclrtSetDevice(device));
  thread_state.context = device;
  process.has_context[static_cast<size_t>(device)].store(true, std::memory_order_relaxed);
}

}  // namespace

DeviceIndex deviceCount() noexcept {
  if (process.initialized.load(std::memory_order_acquire)) {
    return process.device_count.load(std::memory_order_relaxed);
  }
  // Not cached before the first use: until then a program may still change the visible devices.
  return queryDeviceCount();
}

DeviceIndex deviceCountEnsureNonZero() {
  lazyInit();
  return deviceCount();
}

void lazyInit() {
  if (C10_LIKELY(process.initialized.load(std::memory_order_acquire))) return;
  TORCH_CHECK(!isInBadFork(),
              "Cannot re-initialize NPU in forked subprocess. To use NPU with multiprocessing, you "
              "must use the 'spawn' start method");
  std::lock_guard<std::mutex> lock(process.init_mutex);
  if (process.initialized.load(std::memory_order_relaxed)) return;
  process.initializing.store(true, std::memory_order_relaxed);
  try {
    initializeRuntime();
  } catch (...) {
    process.initializing.store(false, std::memory_order_relaxed);
    throw;
  }
  process.initialized.store(true, std::memory_order_release);
}

bool isInitialized() noexcept { return process.initialized.load(std::memory_order_acquire); }

bool isInBadFork() noexcept { return process.bad_fork.load(std::memory_order_relaxed); }

void shutdown() noexcept {
  if (!isInitialized()) return;
  for (DeviceIndex device = 0; device < deviceCount(); ++device) {
    if (!hasContext(device)) continue;
    try {
      finishDevice(device);
    } catch (const c10::Error& error) {
      TORCH_WARN("NPU device ", static_cast<int>(device),
                 " reported an error at exit: ", error.what_without_backtrace());
    } catch (...) {
      // A runtime that is already gone has nothing left to wait for.
    }
  }
}

DeviceIndex currentDevice() noexcept { return thread_state.device; }

void setDevice(DeviceIndex device) {
  // A thread without a context has a negative index there, so a negative device is looked at too.
  if (C10_UNLIKELY(thread_state.context != device || device < 0)) switchContext(device);
  thread_state.device = device;
}

DeviceIndex exchangeDevice(DeviceIndex device) {
  const DeviceIndex previous = thread_state.device;
  setDevice(device);
  return previous;
}

void maybeSetDevice(DeviceIndex device) {
  if (device < 0) return;
  if (thread_state.context != device) {
    checkDeviceIndex(device);
    if (hasContext(device)) switchContext(device);
  }
  thread_state.device = device;
}

DeviceIndex maybeExchangeDevice(DeviceIndex device) {
  const DeviceIndex previous = thread_state.device;
  maybeSetDevice(device);
  return previous;
}

void uncheckedSetDevice(DeviceIndex device) noexcept {
  if (device < 0) return;
  if (thread_state.context != device && hasContext(device) && isInitialized() &&
      acl::api().aclrtSetDevice(device) == ACL_SUCCESS) {
    thread_state.context = device;
  }
  thread_state.device = device;
}

void ensureContext(DeviceIndex device) {
  if (device < 0) device = thread_state.device;
  if (C10_UNLIKELY(thread_state.context != device)) switchContext(device);
}

void ensureAnyContext() {
  if (C10_UNLIKELY(thread_state.context == kNoContext)) switchContext(thread_state.device);
}

bool hasContext(DeviceIndex device) noexcept {
  return device >= 0 && device < kMaxDevices && isInitialized() &&
         process.has_context[static_cast<size_t>(device)].load(std::memory_order_relaxed);
}

void checkDeviceIndex(DeviceIndex device) {
  const DeviceIndex count = deviceCount();
  TORCH_CHECK(device >= 0 && device < count,
              "invalid device ordinal: npu:", static_cast<int>(device), " does not exist, ",
              static_cast<int>(count), " NPU device(s) are available");
}

void synchronizeDevice(DeviceIndex device) {
  const DeviceIndex previous = thread_state.device;
  ensureContext(device);
  // A wait that is given up leaves the thread's device alone, too.
  aclError code = ACL_SUCCESS;
  try {
    code = interruptibly([] { return acl::api().aclrtSynchronizeDevice(); });
  } catch (...) {
    uncheckedSetDevice(previous);
    throw;
  }
  NPU_CHECK_CODE(code, "aclrtSynchronizeDevice");
  uncheckedSetDevice(previous);
}

void setOperatorTimeout(uint32_t milliseconds) {
  lazyInit();
  TORCH_CHECK_NOT_IMPLEMENTED(acl::api().aclrtSetOpExecuteTimeOutV2 != nullptr,
                              "this CANN lacks aclrtSetOpExecuteTimeOutV2: limit the time of the "
                              "whole program instead");
  uint64_t actual = 0;
  NPU_CHECK(acl::api().aclrtSetOpExecuteTimeOutV2(uint64_t{milliseconds} * 1000, &actual));
}

bool canAccessPeer(DeviceIndex device, DeviceIndex peer) {
  lazyInit();
  checkDeviceIndex(device);
  checkDeviceIndex(peer);
  if (device == peer) return false;
  if (acl::api().aclrtDeviceCanAccessPeer == nullptr) return false;
  int32_t can_access = 0;
  NPU_CHECK(acl::api().aclrtDeviceCanAccessPeer(&can_access, device, peer));
  return can_access != 0;
}

}  // namespace torch_npu
