// Limits: cores that operators may use, by device, stream and thread, and operation timeouts.
#include "runtime/api/checks.h"
#include "runtime/core/device.h"
#include "runtime/core/operation_timeout.h"

using namespace softcann;

namespace {

// The stream whose limits the calling thread has chosen.
thread_local Stream* thread_limits = nullptr;

aclError checkType(const char* function, aclrtDevResLimitType type) {
  if (type == ACL_RT_DEV_RES_CUBE_CORE || type == ACL_RT_DEV_RES_VECTOR_CORE) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string(function) + ": there is no resource " + std::to_string(type));
}

aclError checkValue(const char* function, const Device& device, aclrtDevResLimitType type,
                    uint32_t value) {
  const int most = device.coreCount(type);
  if (value >= 1 && value <= static_cast<uint32_t>(most)) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + std::to_string(value) +
                                           " is not within 1 to " + std::to_string(most));
}

uint32_t limitOf(const Stream& stream, aclrtDevResLimitType type) {
  const uint32_t own = stream.attributes.core_limit[type].load();
  return own != 0 ? own : stream.device()->core_limit[type].load();
}

}  // namespace

extern "C" {

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t* value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetDeviceResLimit", "value", value));
    SOFTCANN_TRY(checkType("aclrtGetDeviceResLimit", type));
    aclError code;
    Device* device = Device::find(deviceId, code);
    if (device != nullptr) *value = device->core_limit[type].load();
    return code;
  });
}

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkType("aclrtSetDeviceResLimit", type));
    aclError code;
    Device* device = Device::find(deviceId, code);
    if (device == nullptr) return code;
    SOFTCANN_TRY(checkValue("aclrtSetDeviceResLimit", *device, type, value));
    device->core_limit[type].store(value);
    return ACL_SUCCESS;
  });
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  return entry([&]() -> aclError {
    aclError code;
    Device* device = Device::find(deviceId, code);
    if (device == nullptr) return code;
    for (int type = 0; type < 2; ++type) {
      device->core_limit[type].store(static_cast<uint32_t>(device->coreCount(type)));
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtGetStreamResLimit(aclrtStream handle, aclrtDevResLimitType type, uint32_t* value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetStreamResLimit", "value", value));
    SOFTCANN_TRY(checkType("aclrtGetStreamResLimit", type));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *value = limitOf(*stream, type);
    return ACL_SUCCESS;
  });
}

aclError aclrtSetStreamResLimit(aclrtStream handle, aclrtDevResLimitType type, uint32_t value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkType("aclrtSetStreamResLimit", type));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    SOFTCANN_TRY(checkValue("aclrtSetStreamResLimit", *stream->device(), type, value));
    stream->attributes.core_limit[type].store(value);
    return ACL_SUCCESS;
  });
}

aclError aclrtResetStreamResLimit(aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    for (auto& limit : stream->attributes.core_limit) limit.store(0);
    return ACL_SUCCESS;
  });
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    thread_limits = stream;
    return ACL_SUCCESS;
  });
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    if (thread_limits == stream) thread_limits = nullptr;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetResInCurrentThread", "value", value));
    SOFTCANN_TRY(checkType("aclrtGetResInCurrentThread", type));
    if (thread_limits != nullptr && thread_limits->isAlive()) {
      *value = limitOf(*thread_limits, type);
      return ACL_SUCCESS;
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    *value = context->device()->core_limit[type].load();
    return ACL_SUCCESS;
  });
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return entry([&] {
    operation_timeouts.wait_seconds = timeout;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return aclrtSetOpExecuteTimeOutV2(uint64_t{timeout} * 1'000'000, nullptr);
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
  return aclrtSetOpExecuteTimeOutV2(uint64_t{timeout} * 1'000, nullptr);
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  return entry([&] {
    operation_timeouts.execute_microseconds = timeout;
    if (actualTimeout != nullptr) *actualTimeout = timeout;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetOpTimeOutInterval(uint64_t* interval) {
  SOFTCANN_TRY(requireNotNull("aclrtGetOpTimeOutInterval", "interval", interval));
  *interval = 1;
  return ACL_SUCCESS;
}

aclError aclrtGetOpExecuteTimeout(uint32_t* const timeoutMs) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetOpExecuteTimeout", "timeoutMs", timeoutMs));
    *timeoutMs = static_cast<uint32_t>(operation_timeouts.execute_microseconds.load() / 1000);
    return ACL_SUCCESS;
  });
}

}  // extern "C"
