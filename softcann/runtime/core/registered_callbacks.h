// Functions that the program has registered for the runtime to call.
//
// They run without a lock that registering takes, so that they may register and deregister; a
// function that is deregistered meanwhile may be called once more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "acl/acl_rt.h"
#include "runtime/core/stream.h"

// What a function for failed tasks is told.
struct rtExceptionInfo {
  uint32_t task;
  uint32_t stream;
  uint32_t thread;
  uint32_t device;
  uint32_t code;
};

namespace softcann {

// `config`: the contents of aclInit()'s file. They are kept for functions that are registered
// later.
aclError runInitCallbacks(std::optional<std::string> config);
aclError runFinalizeCallbacks();
aclError addInitCallback(aclInitCallbackFunc function, aclRegisterCallbackType type, void* data);
aclError removeInitCallback(aclInitCallbackFunc function, aclRegisterCallbackType type);
aclError addFinalizeCallback(aclFinalizeCallbackFunc function, aclRegisterCallbackType type,
                             void* data);
aclError removeFinalizeCallback(aclFinalizeCallbackFunc function, aclRegisterCallbackType type);

// `task`: its number in the stream. Cheap where nothing is registered.
void reportException(const Stream& stream, uint64_t task, aclError code) noexcept;
void setExceptionCallback(aclrtExceptionInfoCallback function);
void addExceptionCallback(aclrtExceptionInfoCallback function);
aclError removeExceptionCallback(aclrtExceptionInfoCallback function);

void notifyStreamState(Stream* stream, aclrtStreamState state) noexcept;
void notifyDeviceState(int device, aclrtDeviceState state) noexcept;
// The first error of a function, with a text that says whose it is.
aclError notifyTaskAbort(int device, aclrtDeviceTaskAbortStage stage, uint32_t timeout);
// `function` null: takes the registration away.
aclError nameStreamCallback(const char* name, aclrtStreamStateCallback function, void* args);
aclError nameDeviceCallback(const char* name, aclrtDeviceStateCallback function, void* args);
aclError nameTaskAbortCallback(const char* name, aclrtDeviceTaskAbortCallback function, void* args);

}  // namespace softcann
