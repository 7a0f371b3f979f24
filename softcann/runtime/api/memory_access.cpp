// Who may reach which memory, and what is behind an address.
#include "runtime/api/checks.h"
#include "runtime/core/device.h"
#include "runtime/core/message.h"

using namespace softcann;

namespace {

aclError checkDevicePlace(const char* function, const aclrtMemLocation& location) {
  if (location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                std::string(function) +
                    ": only the access of devices (ACL_MEM_LOCATION_TYPE_DEVICE) is known; the "
                    "host copies device memory");
  }
  aclError code;
  Device::find(location.id, code);
  return code;
}

aclError checkAllocated(const char* function, const void* pointer, size_t size) {
  SOFTCANN_TRY(requireNotNull(function, "the address", pointer));
  DeviceMemory* memory = DeviceMemory::of(pointer);
  if (size != 0 && memory != nullptr && memory->covers(pointer, size)) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the " + std::to_string(size) +
                                           " bytes at " + addressText(pointer) +
                                           " are not allocated device memory");
}

}  // namespace

extern "C" {

aclError aclrtMemGetAccess(void* virPtr, aclrtMemLocation* location, uint64_t* flag) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMemGetAccess", "location", location));
    SOFTCANN_TRY(requireNotNull("aclrtMemGetAccess", "flag", flag));
    SOFTCANN_TRY(checkAllocated("aclrtMemGetAccess", virPtr, 1));
    SOFTCANN_TRY(checkDevicePlace("aclrtMemGetAccess", *location));
    *flag = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    return ACL_SUCCESS;
  });
}

aclError aclrtMemSetAccess(void* virPtr, size_t size, aclrtMemAccessDesc* desc, size_t count) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMemSetAccess", "desc", desc));
    if (count == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemSetAccess: count is 0");
    SOFTCANN_TRY(checkAllocated("aclrtMemSetAccess", virPtr, size));
    for (size_t i = 0; i < count; ++i) {
      SOFTCANN_TRY(checkDevicePlace("aclrtMemSetAccess", desc[i].location));
      if (desc[i].flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE) continue;
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                  "aclrtMemSetAccess: all devices of a process read and write its memory; only "
                  "ACL_RT_MEM_ACCESS_FLAGS_READWRITE can be set");
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtMemP2PMap(void* devPtr, size_t size, int32_t dstDevId, uint64_t flags) {
  return entry([&]() -> aclError {
    if (flags != 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemP2PMap: flags must be 0");
    SOFTCANN_TRY(checkAllocated("aclrtMemP2PMap", devPtr, size));
    aclError code;
    Device::find(dstDevId, code);
    return code;
  });
}

aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                   aclrtPhysicalMemProp* prop) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMemGetAllocationPropertiesFromHandle", "handle", handle));
    SOFTCANN_TRY(requireNotNull("aclrtMemGetAllocationPropertiesFromHandle", "prop", prop));
    auto* memory = static_cast<PhysicalMemory*>(handle);
    for (Device* device : Device::all()) {
      if (!device->memory().owns(memory)) continue;
      *prop = memory->properties;
      return ACL_SUCCESS;
    }
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtMemGetAllocationPropertiesFromHandle: the handle is not physical memory, or "
                "was freed before");
  });
}

aclError aclrtMemRetainAllocationHandle(void* virPtr, aclrtDrvMemHandle* handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMemRetainAllocationHandle", "virPtr", virPtr));
    SOFTCANN_TRY(requireNotNull("aclrtMemRetainAllocationHandle", "handle", handle));
    DeviceMemory* memory = DeviceMemory::of(virPtr);
    PhysicalMemory* physical = memory == nullptr ? nullptr : memory->retainPhysical(virPtr);
    if (physical == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtMemRetainAllocationHandle: nothing is mapped at " +
                                               addressText(virPtr) + " with aclrtMapMem()");
    }
    *handle = physical;
    return ACL_SUCCESS;
  });
}

aclError aclrtCheckMemType(void** addrList, uint32_t size, uint32_t memType, uint32_t* checkResult,
                           uint32_t reserve) {
  return entry([&]() -> aclError {
    constexpr uint32_t kKnown = ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_RSVD;
    SOFTCANN_TRY(requireNotNull("aclrtCheckMemType", "addrList", addrList));
    SOFTCANN_TRY(requireNotNull("aclrtCheckMemType", "checkResult", checkResult));
    if (size == 0 || reserve != 0 || memType == 0 || (memType & ~kKnown) != 0) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtCheckMemType: size is 0, reserve is not 0, or memType is unknown");
    }
    bool all = (memType & ACL_RT_MEM_TYPE_DEV) != 0;
    for (uint32_t i = 0; all && i < size; ++i) {
      DeviceMemory* memory = DeviceMemory::of(addrList[i]);
      all = memory != nullptr && memory->covers(addrList[i], 1);
    }
    *checkResult = all ? 1 : 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                     aclrtHostMemMapCapability* capabilities) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtHostMemMapCapabilities", "capabilities", capabilities));
    aclError code;
    if (Device::find(deviceId, code) == nullptr) return code;
    if (hacType < ACL_RT_HAC_TYPE_STARS || hacType > ACL_RT_HAC_TYPE_CCU) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtHostMemMapCapabilities: there is no kind " +
                                               std::to_string(hacType) + " of accelerator");
    }
    const bool reaches = hacType == ACL_RT_HAC_TYPE_AICPU || hacType == ACL_RT_HAC_TYPE_AIC ||
                         hacType == ACL_RT_HAC_TYPE_AIV || hacType == ACL_RT_HAC_TYPE_SDMA;
    *capabilities = reaches ? ACL_RT_HOST_MEM_MAP_SUPPORTED : ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED;
    return ACL_SUCCESS;
  });
}

}  // extern "C"
