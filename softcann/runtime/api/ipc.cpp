// Memory and events that several processes use.
#include <cstring>

#include "runtime/api/checks.h"
#include "runtime/core/device.h"
#include "runtime/core/error_state.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/message.h"

using namespace softcann;

namespace {

// What CANN asks callers to pass for the length of a key.
constexpr size_t kKeyRoom = 65;
static_assert(kIpcKeySize <= kKeyRoom && kIpcKeySize <= ACL_IPC_EVENT_HANDLE_SIZE);

}  // namespace

extern "C" {

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  return entry([&]() -> aclError {
    constexpr const char* kName = "aclrtIpcMemGetExportKey";
    SOFTCANN_TRY(requireNotNull(kName, "devPtr", devPtr));
    SOFTCANN_TRY(requireNotNull(kName, "key", key));
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) + ": the size is 0");
    if (len < kKeyRoom) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) + ": a key needs " +
                                               std::to_string(kKeyRoom) + " bytes, not " +
                                               std::to_string(len));
    }
    if (flags > ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(kName) + ": unknown flags " + std::to_string(flags));
    }
    DeviceMemory* memory = DeviceMemory::of(devPtr);
    if (memory == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(kName) + ": " + addressText(devPtr) + " is not device memory");
    }
    std::string text;
    SOFTCANN_TRY(memory->exportRange(kName, devPtr, size, flags != 0, &text));
    std::memcpy(key, text.c_str(), text.size() + 1);
    return ACL_SUCCESS;
  });
}

aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtIpcMemSetImportPid", "key", key));
    SOFTCANN_TRY(requireNotNull("aclrtIpcMemSetImportPid", "pid", pid));
    if (num == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtIpcMemSetImportPid: num is 0");
    return admitProcesses("aclrtIpcMemSetImportPid", key, pid, num);
  });
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  const void* caller = __builtin_return_address(0);
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtIpcMemImportByKey", "devPtr", devPtr));
    SOFTCANN_TRY(requireNotNull("aclrtIpcMemImportByKey", "key", key));
    if (flags > ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtIpcMemImportByKey: unknown flags " + std::to_string(flags));
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    if (isOwnIpcKey(key)) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string("aclrtIpcMemImportByKey: this process made "
                                                       "the key '") +
                                               key + "'; use the memory itself");
    }
    return context->device()->memory().importByKey(key, caller, devPtr);
  });
}

aclError aclrtIpcMemClose(const char* key) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtIpcMemClose", "key", key));
    for (Device* device : Device::all()) {
      if (device->memory().closeImport(key)) return ACL_SUCCESS;
    }
    if (isIpcKey(IpcKind::kMemory, key) && withdrawExport(key)) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string("aclrtIpcMemClose: this process neither exports nor imports '") + key +
                    "'; was it closed before?");
  });
}

aclError aclrtIpcGetEventHandle(aclrtEvent handle, aclrtIpcEventHandle* ipc_handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtIpcGetEventHandle", "handle", ipc_handle));
    Event* event = nullptr;
    SOFTCANN_TRY(liveEvent("aclrtIpcGetEventHandle", handle, event));
    if (event->shared() == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtIpcGetEventHandle: the event was not made for several processes: create "
                  "it with ACL_EVENT_IPC");
    }
    std::string text;
    SOFTCANN_TRY(event->shared()->handle(&text));
    std::memset(ipc_handle, 0, sizeof(*ipc_handle));
    std::memcpy(ipc_handle->reserved, text.c_str(), text.size());
    return ACL_SUCCESS;
  });
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtIpcOpenEventHandle", "event", event));
    const std::string text(handle.reserved, strnlen(handle.reserved, sizeof(handle.reserved)));
    std::shared_ptr<SharedEvent> shared = SharedEvent::open(text);
    if (shared == nullptr) return lastError();
    *event = Event::open(ACL_EVENT_IPC, std::move(shared))->toHandle();
    return ACL_SUCCESS;
  });
}

}  // extern "C"
