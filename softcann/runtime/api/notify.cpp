// Notifies and counting notifies.
#include "runtime/core/notify.h"

#include <cstring>
#include <vector>

#include "runtime/api/checks.h"
#include "runtime/core/error_state.h"
#include "runtime/core/ipc_service.h"

using namespace softcann;

namespace {

// What CANN asks callers to pass for the length of a key.
constexpr size_t kKeyRoom = 65;
static_assert(kIpcKeySize <= kKeyRoom);

constexpr aclrtCntNotifyRecordInfo kSet = {ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 1};

aclError liveNotify(const char* function, void* handle, Notify::Kind kind, Notify*& notify) {
  notify = Notify::fromHandle(handle);
  if (notify != nullptr && notify->isAlive(kind)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE,
              std::string(function) + ": the notify is null or has been destroyed");
}

aclError liveNotify(const char* function, aclrtNotify handle, Notify*& notify) {
  return liveNotify(function, handle, Notify::Kind::kPlain, notify);
}

aclError createNotify(const char* function, Notify::Kind kind, void** handle) {
  SOFTCANN_TRY(requireNotNull(function, "notify", handle));
  Context* context = nullptr;
  SOFTCANN_TRY(currentContext(context));
  Notify* notify = Notify::open(kind);
  if (notify == nullptr) return lastError();
  *handle = notify->toHandle();
  return ACL_SUCCESS;
}

aclError destroyNotify(const char* function, Notify::Kind kind, void* handle) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify(function, handle, kind, notify));
    return notify->close(kind);
  });
}

aclError checkMode(const char* function, int mode, bool known) {
  if (known) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string(function) + ": there is no mode " + std::to_string(mode));
}

aclError recordCount(const char* function, aclrtCntNotify handle, aclrtStream stream_handle,
                     aclrtCntNotifyRecordInfo how) {
  Notify* notify = nullptr;
  SOFTCANN_TRY(liveNotify(function, handle, Notify::Kind::kCounting, notify));
  Stream* stream = nullptr;
  SOFTCANN_TRY(resolveStream(stream_handle, stream));
  return notify->record(stream, how);
}

aclError getId(const char* function, Notify::Kind kind, void* handle, uint32_t* id) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "notifyId", id));
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify(function, handle, kind, notify));
    *id = notify->id();
    return ACL_SUCCESS;
  });
}

}  // namespace

extern "C" {

aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  return entry([&]() -> aclError {
    if (flag > ACL_NOTIFY_DEVICE_USE_ONLY) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtCreateNotify: unknown flags " + std::to_string(flag));
    }
    return createNotify("aclrtCreateNotify", Notify::Kind::kPlain, notify);
  });
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
  return destroyNotify("aclrtDestroyNotify", Notify::Kind::kPlain, notify);
}

aclError aclrtRecordNotify(aclrtNotify handle, aclrtStream stream_handle) {
  return entry([&]() -> aclError {
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify("aclrtRecordNotify", handle, notify));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(stream_handle, stream));
    return notify->record(stream, kSet);
  });
}

aclError aclrtWaitAndResetNotify(aclrtNotify handle, aclrtStream stream_handle, uint32_t timeout) {
  return entry([&]() -> aclError {
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify("aclrtWaitAndResetNotify", handle, notify));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(stream_handle, stream));
    return notify->waitIn(stream, {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 1, /*clears=*/true, timeout});
  });
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t* notifyId) {
  return getId("aclrtGetNotifyId", Notify::Kind::kPlain, notify, notifyId);
}

aclError aclrtNotifyBatchReset(aclrtNotify* notifies, size_t num) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtNotifyBatchReset", "notifies", notifies));
    if (num == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtNotifyBatchReset: num is 0");
    std::vector<Notify*> all(num);
    for (size_t i = 0; i < num; ++i) {
      SOFTCANN_TRY(liveNotify("aclrtNotifyBatchReset", notifies[i], all[i]));
    }
    for (Notify* notify : all) notify->reset();
    return ACL_SUCCESS;
  });
}

aclError aclrtNotifyGetExportKey(aclrtNotify handle, char* key, size_t len, uint64_t flags) {
  return entry([&]() -> aclError {
    constexpr const char* kName = "aclrtNotifyGetExportKey";
    SOFTCANN_TRY(requireNotNull(kName, "key", key));
    if (len < kKeyRoom) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) + ": a key needs " +
                                               std::to_string(kKeyRoom) + " bytes, not " +
                                               std::to_string(len));
    }
    if (flags != ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT &&
        flags != ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(kName) + ": unknown flags " + std::to_string(flags));
    }
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify(kName, handle, notify));
    std::string text;
    SOFTCANN_TRY(notify->exportKey(flags != ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT, &text));
    std::memcpy(key, text.c_str(), text.size() + 1);
    return ACL_SUCCESS;
  });
}

aclError aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtNotifyImportByKey", "notify", notify));
    SOFTCANN_TRY(requireNotNull("aclrtNotifyImportByKey", "key", key));
    if (flags != ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT &&
        flags != ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtNotifyImportByKey: unknown flags " + std::to_string(flags));
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    if (isOwnIpcKey(key)) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string("aclrtNotifyImportByKey: this process made the key '") + key +
                      "'; use the notify itself");
    }
    Notify* imported = Notify::import(key);
    if (imported == nullptr) return lastError();
    *notify = imported->toHandle();
    return ACL_SUCCESS;
  });
}

aclError aclrtNotifySetImportPid(aclrtNotify handle, int32_t* pid, size_t num) {
  return entry([&]() -> aclError {
    constexpr const char* kName = "aclrtNotifySetImportPid";
    SOFTCANN_TRY(requireNotNull(kName, "pid", pid));
    if (num == 0) return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) + ": num is 0");
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify(kName, handle, notify));
    if (notify->key().empty()) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) +
                                               ": the notify is not exported; call "
                                               "aclrtNotifyGetExportKey() first");
    }
    return admitProcesses(kName, notify->key(), pid, num);
  });
}

aclError aclrtCntNotifyCreate(aclrtCntNotify* cntNotify, uint64_t flag) {
  return entry([&]() -> aclError {
    if (flag != 0) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtCntNotifyCreate: the flag is reserved and must be 0");
    }
    return createNotify("aclrtCntNotifyCreate", Notify::Kind::kCounting, cntNotify);
  });
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify) {
  return destroyNotify("aclrtCntNotifyDestroy", Notify::Kind::kCounting, cntNotify);
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream,
                              aclrtCntNotifyRecordInfo* info) {
  return entry([&]() -> aclError {
    constexpr const char* kName = "aclrtCntNotifyRecord";
    SOFTCANN_TRY(requireNotNull(kName, "info", info));
    const int mode = info->mode;
    SOFTCANN_TRY(checkMode(kName, mode, (mode >= 0 && mode <= 2) || mode == 4));
    return recordCount(kName, cntNotify, stream, *info);
  });
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream) {
  return entry([&] {
    return recordCount("aclrtCntNotifyReset", cntNotify, stream,
                       {ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 0});
  });
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify handle, aclrtStream stream_handle,
                                       aclrtCntNotifyWaitInfo* info) {
  return entry([&]() -> aclError {
    constexpr const char* kName = "aclrtCntNotifyWaitWithTimeout";
    SOFTCANN_TRY(requireNotNull(kName, "info", info));
    SOFTCANN_TRY(checkMode(kName, info->mode, info->mode >= 0 && info->mode <= 4));
    if (info->isClear > 1) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) + ": isClear must be 0 or 1, not " +
                                               std::to_string(info->isClear));
    }
    Notify* notify = nullptr;
    SOFTCANN_TRY(liveNotify(kName, handle, Notify::Kind::kCounting, notify));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(stream_handle, stream));
    return notify->waitIn(stream, {info->mode, info->value, info->isClear == 1, info->timeout});
  });
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t* notifyId) {
  return getId("aclrtCntNotifyGetId", Notify::Kind::kCounting, cntNotify, notifyId);
}

}  // extern "C"
