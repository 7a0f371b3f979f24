// Streams made from a configuration.
#include <cstring>
#include <new>

#include "runtime/api/checks.h"
#include "runtime/core/device_memory.h"
#include "runtime/core/message.h"

using namespace softcann;

namespace {

template <class Value>
aclError setMember(Value& member, const void* value, size_t size) {
  if (size != sizeof(Value)) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamConfigOpt: this attribute has " +
                                             std::to_string(sizeof(Value)) +
                                             " bytes, and valueSize is " + std::to_string(size));
  }
  std::memcpy(&member, value, sizeof(Value));
  return ACL_SUCCESS;
}

aclError checkWorkspace(const aclrtStreamConfigHandle& config) {
  if (config.workptr == nullptr) return ACL_SUCCESS;
  DeviceMemory* memory = DeviceMemory::of(config.workptr);
  if (memory != nullptr && memory->covers(config.workptr, config.workSize)) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              "aclrtCreateStreamV2: the " + std::to_string(config.workSize) + " bytes at " +
                  addressText(config.workptr) + " are not allocated device memory");
}

}  // namespace

extern "C" {

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void) {
  auto* handle = new (std::nothrow) aclrtStreamConfigHandle{};
  if (handle == nullptr) {
    fail(ACL_ERROR_BAD_ALLOC, "aclrtCreateStreamConfigHandle: the host is out of memory");
  }
  return handle;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  SOFTCANN_TRY(requireNotNull("aclrtDestroyStreamConfigHandle", "handle", handle));
  delete handle;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                 const void* attrValue, size_t valueSize) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtSetStreamConfigOpt", "handle", handle));
    SOFTCANN_TRY(requireNotNull("aclrtSetStreamConfigOpt", "attrValue", attrValue));
    switch (attr) {
      case ACL_RT_STREAM_WORK_ADDR_PTR:
        return setMember(handle->workptr, attrValue, valueSize);
      case ACL_RT_STREAM_WORK_SIZE:
        return setMember(handle->workSize, attrValue, valueSize);
      case ACL_RT_STREAM_FLAG:
        return setMember(handle->flag, attrValue, valueSize);
      case ACL_RT_STREAM_PRIORITY:
        return setMember(handle->priority, attrValue, valueSize);
    }
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtSetStreamConfigOpt: there is no attribute " + std::to_string(attr));
  });
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtCreateStreamV2", "stream", stream));
    SOFTCANN_TRY(requireNotNull("aclrtCreateStreamV2", "handle", handle));
    SOFTCANN_TRY(checkWorkspace(*handle));
    if (handle->flag > UINT32_MAX) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtCreateStreamV2: there are no flags " + std::to_string(handle->flag));
    }
    return aclrtCreateStreamWithConfig(stream, handle->priority,
                                       static_cast<uint32_t>(handle->flag));
  });
}

}  // extern "C"
