// Functions of the program that the runtime calls.
#include "runtime/core/registered_callbacks.h"

#include "runtime/api/checks.h"

using namespace softcann;

namespace {

uint32_t infoMember(const aclrtExceptionInfo* info, uint32_t rtExceptionInfo::* member) noexcept {
  return info == nullptr ? UINT32_MAX : info->*member;
}

}  // namespace

extern "C" {

// Before aclInit() as well as after it.
aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc,
                                 void* userData) {
  return guarded([&] { return addInitCallback(cbFunc, type, userData); });
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
  return guarded([&] { return removeInitCallback(cbFunc, type); });
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc,
                                     void* userData) {
  return guarded([&] { return addFinalizeCallback(cbFunc, type, userData); });
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type,
                                       aclFinalizeCallbackFunc cbFunc) {
  return guarded([&] { return removeFinalizeCallback(cbFunc, type); });
}

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return guarded([&] {
    setExceptionCallback(callback);
    return ACL_SUCCESS;
  });
}

aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
  return guarded([&]() -> aclError {
    if (callback == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtExceptionInfoCallbackRegister: the function is null");
    }
    addExceptionCallback(callback);
    return ACL_SUCCESS;
  });
}

aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
  return guarded([&] { return removeExceptionCallback(callback); });
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return infoMember(info, &rtExceptionInfo::task);
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return infoMember(info, &rtExceptionInfo::stream);
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return infoMember(info, &rtExceptionInfo::thread);
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return infoMember(info, &rtExceptionInfo::device);
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return infoMember(info, &rtExceptionInfo::code);
}

aclError aclrtRegStreamStateCallback(const char* regName, aclrtStreamStateCallback callback,
                                     void* args) {
  return guarded([&] { return nameStreamCallback(regName, callback, args); });
}

aclError aclrtRegDeviceStateCallback(const char* regName, aclrtDeviceStateCallback callback,
                                     void* args) {
  return guarded([&] { return nameDeviceCallback(regName, callback, args); });
}

aclError aclrtSetDeviceTaskAbortCallback(const char* regName, aclrtDeviceTaskAbortCallback callback,
                                         void* args) {
  return guarded([&] { return nameTaskAbortCallback(regName, callback, args); });
}

}  // extern "C"
