// Devices: choosing, closing, synchronising, and what they can do.
#include "runtime/core/device.h"

#include <unistd.h>

#include <cstring>

#include "runtime/api/checks.h"
#include "runtime/core/error_state.h"
#include "runtime/core/platform.h"
#include "runtime/core/registered_callbacks.h"

using namespace softcann;

namespace {

// Runs body(device) for the device with this id.
template <class Body>
aclError withDevice(int64_t id, Body&& body) noexcept {
  return entry([&]() -> aclError {
    aclError code;
    Device* device = Device::find(id, code);
    return device == nullptr ? code : body(*device);
  });
}

aclError resetDevice(int32_t id, bool force) {
  if (isFinalized()) return ACL_SUCCESS;
  return withDevice(id, [&](Device& device) { return device.close(force, /*all_uses=*/force); });
}

aclError synchronizeDevice(int32_t timeout) {
  return entry([&]() -> aclError {
    if (timeout < -1) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtSynchronizeDeviceWithTimeout: the timeout must be -1 or more");
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    return context->device()->synchronize(Deadline::afterMilliseconds(timeout));
  });
}

// Logic and physical ids count the same devices of the machine.
aclError sameDevice(const char* function, const char* parameter, int32_t id, int32_t* same) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, parameter, same));
    if (id < 0 || id >= platform()->device_count) {
      return fail(ACL_ERROR_RT_INVALID_DEVICEID,
                  std::string(function) + ": the machine has no " + "device " + std::to_string(id));
    }
    *same = id;
    return ACL_SUCCESS;
  });
}

aclError checkPeer(const char* function, int32_t device, int32_t peer) {
  aclError code;
  if (Device::find(device, code) == nullptr || Device::find(peer, code) == nullptr) return code;
  if (device != peer) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": a device is not its own peer");
}

}  // namespace

extern "C" {

aclError aclrtGetDeviceCount(uint32_t* count) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetDeviceCount", "count", count));
    VisibleDevices visible;
    SOFTCANN_TRY(readVisibleDevices(visible));
    *count = static_cast<uint32_t>(visible.physical_ids.size());
    return ACL_SUCCESS;
  });
}

aclError aclrtSetDevice(int32_t deviceId) {
  return withDevice(deviceId, [](Device& device) -> aclError {
    SOFTCANN_TRY(device.open());
    Context::setCurrent(device.primaryContext());
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDevice(int32_t deviceId) { return resetDevice(deviceId, /*force=*/false); }

aclError aclrtResetDeviceForce(int32_t deviceId) { return resetDevice(deviceId, /*force=*/true); }

aclError aclrtGetDevice(int32_t* deviceId) {
  // In CANN this needs no aclInit(): callers ask whether there is a context.
  if (process_state.load() == ProcessState::kUninitialized) {
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "the calling thread has no device");
  }
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetDevice", "deviceId", deviceId));
    const Device* device = Context::defaultDevice();
    if (Context::current() != nullptr || device == nullptr) {
      Context* context = nullptr;
      SOFTCANN_TRY(currentContext(context));
      device = context->device();
    }
    *deviceId = device->id();
    return ACL_SUCCESS;
  });
}

aclError aclrtSetTsDevice(aclrtTsId tsId) {
  return entry([&]() -> aclError {
    if (tsId == ACL_TS_ID_AICORE || tsId == ACL_TS_ID_AIVECTOR) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetTsDevice: there is no such scheduler");
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  SOFTCANN_TRY(requireNotNull("aclrtGetRunMode", "runMode", runMode));
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void) { return synchronizeDevice(-1); }

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) { return synchronizeDevice(timeout); }

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  // The tasks that run are waited for: they cannot be interrupted.
  return withDevice(deviceId, [&](Device& device) -> aclError {
    SOFTCANN_TRY(notifyTaskAbort(deviceId, ACL_RT_DEVICE_TASK_ABORT_PRE, timeout));
    device.abortTasks();
    return notifyTaskAbort(deviceId, ACL_RT_DEVICE_TASK_ABORT_POST, timeout);
  });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  return withDevice(deviceId, [&](Device&) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtQueryDeviceStatus", "deviceStatus", deviceStatus));
    *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  SOFTCANN_TRY(requireNotNull("aclrtDeviceGetBareTgid", "pid", pid));
  *pid = static_cast<int32_t>(getpid());
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  if (leastPriority != nullptr) *leastPriority = 7;
  if (greatestPriority != nullptr) *greatestPriority = 0;
  return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtDeviceCanAccessPeer", "canAccessPeer", canAccessPeer));
    aclError code;
    if (Device::find(deviceId, code) == nullptr || Device::find(peerDeviceId, code) == nullptr) {
      return code;
    }
    *canAccessPeer = deviceId != peerDeviceId ? 1 : 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return entry([&]() -> aclError {
    if (flags != 0) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceEnablePeerAccess: flags must be 0");
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    SOFTCANN_TRY(checkPeer("aclrtDeviceEnablePeerAccess", context->device()->id(), peerDeviceId));
    context->device()->enabled_peers.fetch_or(uint64_t{1} << peerDeviceId);
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return entry([&]() -> aclError {
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    SOFTCANN_TRY(checkPeer("aclrtDeviceDisablePeerAccess", context->device()->id(), peerDeviceId));
    const uint64_t bit = uint64_t{1} << peerDeviceId;
    if ((context->device()->enabled_peers.fetch_and(~bit) & bit) != 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtDeviceDisablePeerAccess: the access of device " +
                    std::to_string(context->device()->id()) + " to device " +
                    std::to_string(peerDeviceId) +
                    " is not enabled; call aclrtDeviceEnablePeerAccess() first");
  });
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  return withDevice(deviceId, [&](Device& device) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtDevicePeerAccessStatus", "status", status));
    SOFTCANN_TRY(checkPeer("aclrtDevicePeerAccessStatus", deviceId, peerDeviceId));
    *status = (device.enabled_peers.load() >> peerDeviceId & 1) != 0 ? 1 : 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  return withDevice(userDevid, [&](Device& device) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetLogicDevIdByUserDevId", "logicDevId", logicDevId));
    *logicDevId = device.physicalId();
    return ACL_SUCCESS;
  });
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t* const phyDevId) {
  return aclrtGetLogicDevIdByUserDevId(userDevId, phyDevId);
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t* const userDevId) {
  return aclrtGetUserDevIdByLogicDevId(phyDevId, userDevId);
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t* const phyDevId) {
  return sameDevice("aclrtGetPhyDevIdByLogicDevId", "phyDevId", logicDevId, phyDevId);
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t* const logicDevId) {
  return sameDevice("aclrtGetLogicDevIdByPhyDevId", "logicDevId", phyDevId, logicDevId);
}

aclError aclrtCheckArchCompatibility(const char* socVersion, int32_t* canCompatible) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtCheckArchCompatibility", "socVersion", socVersion));
    SOFTCANN_TRY(requireNotNull("aclrtCheckArchCompatibility", "canCompatible", canCompatible));
    const Platform* settings = platform();
    if (settings == nullptr) return lastError();
    // Nothing that was built for a chip runs on another one, as far as softcann knows chips.
    *canCompatible = std::strcmp(socVersion, settings->soc->name) == 0 ? 1 : 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetGroupCount(uint32_t* count) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetGroupCount", "count", count));
    *count = 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetGroup(int32_t groupId) {
  return entry([&] {
    return fail(ACL_ERROR_RT_GROUP_NOT_CREATE,
                "aclrtSetGroup: there is no group " + std::to_string(groupId) +
                    ": devices are whole; use aclrtSetDeviceResLimit() for a part of the cores");
  });
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t* const userDevid) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetUserDevIdByLogicDevId", "userDevid", userDevid));
    for (const Device* device : Device::all()) {
      if (device->physicalId() != logicDevId) continue;
      *userDevid = device->id();
      return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtGetUserDevIdByLogicDevId: device " +
                                                   std::to_string(logicDevId) + " is not visible");
  });
}

// Results are IEEE: infinities and NaNs, never saturated.
aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return entry([&]() -> aclError {
    if (mode == ACL_RT_OVERFLOW_MODE_INFNAN) return ACL_SUCCESS;
    return fail(ACL_ERROR_API_NOT_SUPPORT,
                "aclrtSetDeviceSatMode: only ACL_RT_OVERFLOW_MODE_INFNAN is supported");
  });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  SOFTCANN_TRY(requireNotNull("aclrtGetDeviceSatMode", "mode", mode));
  *mode = ACL_RT_OVERFLOW_MODE_INFNAN;
  return ACL_SUCCESS;
}

// Memory of the machine that is found faulty is the machine's matter: there is never any here.
aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t arraySize,
                            size_t* retSize) {
  (void)arraySize;
  return withDevice(deviceId, [&](Device&) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetMemUceInfo", "memUceInfoArray", memUceInfoArray));
    SOFTCANN_TRY(requireNotNull("aclrtGetMemUceInfo", "retSize", retSize));
    *retSize = 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t arraySize) {
  (void)memUceInfoArray;
  return withDevice(deviceId, [&](Device&) -> aclError {
    if (arraySize == 0) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemUceRepair: none of this memory is faulty");
  });
}

aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo) {
  return withDevice(deviceId, [&](Device&) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetErrorVerbose", "errorInfo", errorInfo));
    std::memset(errorInfo, 0, sizeof(*errorInfo));
    errorInfo->errorType = ACL_RT_NO_ERROR;
    return ACL_SUCCESS;
  });
}

aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo* errorInfo) {
  return withDevice(deviceId, [&](Device&) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtRepairError", "errorInfo", errorInfo));
    if (errorInfo->errorType == ACL_RT_NO_ERROR) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtRepairError: the device has no such error");
  });
}

}  // extern "C"
