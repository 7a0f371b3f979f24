// Virtual memory: addresses and physical memory apart.
#include "runtime/api/checks.h"
#include "runtime/core/address_space.h"
#include "runtime/core/device.h"
#include "runtime/core/message.h"

using namespace softcann;

namespace {

aclError memoryBehind(const char* function, void* pointer, DeviceMemory*& memory) {
  SOFTCANN_TRY(requireNotNull(function, "virPtr", pointer));
  memory = DeviceMemory::of(pointer);
  if (memory != nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string(function) + ": " + addressText(pointer) + " is not a device address");
}

// Reserving needs no context in CANN; a thread without one reserves addresses of the first device.
aclError deviceOrFirst(Device*& device) {
  aclError code = ACL_SUCCESS;
  const Context* context = Context::current();
  device = context != nullptr && context->isAlive() ? context->device() : Device::find(0, code);
  return code;
}

aclError checkProperties(const char* function, const aclrtPhysicalMemProp* prop, Device*& device) {
  SOFTCANN_TRY(requireNotNull(function, "prop", prop));
  if (prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
    return fail(ACL_ERROR_API_NOT_SUPPORT,
                std::string(function) +
                    ": only memory of a device (ACL_MEM_LOCATION_TYPE_DEVICE) is supported; use "
                    "aclrtMallocHost() for host memory");
  }
  aclError code;
  device = Device::find(prop->location.id, code);
  return code;
}

}  // namespace

extern "C" {

aclError aclrtReserveMemAddress(void** virPtr, size_t size, size_t alignment, void* expectPtr,
                                uint64_t flags) {
  (void)flags;  // the type of pages: all are the same here
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtReserveMemAddress", "virPtr", virPtr));
    if (expectPtr != nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtReserveMemAddress: expectPtr must be null");
    }
    Device* device = nullptr;
    SOFTCANN_TRY(deviceOrFirst(device));
    return device->memory().reserve(size, alignment, virPtr);
  });
}

aclError aclrtReserveMemAddressNoUCMemory(void** virPtr, size_t size, size_t alignment,
                                          void* expectPtr, uint64_t flags) {
  return aclrtReserveMemAddress(virPtr, size, alignment, expectPtr, flags);
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    DeviceMemory* memory = nullptr;
    SOFTCANN_TRY(memoryBehind("aclrtReleaseMemAddress", virPtr, memory));
    return memory->release(virPtr);
  });
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                             const aclrtPhysicalMemProp* prop, uint64_t flags) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMallocPhysical", "handle", handle));
    if (flags != 0) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocPhysical: flags must be 0");
    }
    Device* device = nullptr;
    SOFTCANN_TRY(checkProperties("aclrtMallocPhysical", prop, device));
    PhysicalMemory* memory = nullptr;
    SOFTCANN_TRY(device->memory().createPhysical(size, &memory));
    memory->properties = *prop;
    *handle = memory;
    return ACL_SUCCESS;
  });
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtFreePhysical", "handle", handle));
    auto* memory = static_cast<PhysicalMemory*>(handle);
    for (Device* device : Device::all()) {
      if (device->memory().owns(memory)) return device->memory().freePhysical(memory);
    }
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtFreePhysical: the handle is not physical memory, or was freed before");
  });
}

aclError aclrtMapMem(void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                     uint64_t flags) {
  const void* caller = __builtin_return_address(0);
  return entry([&]() -> aclError {
    DeviceMemory* memory = nullptr;
    SOFTCANN_TRY(memoryBehind("aclrtMapMem", virPtr, memory));
    SOFTCANN_TRY(requireNotNull("aclrtMapMem", "handle", handle));
    if (flags != 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMapMem: flags must be 0");
    return memory->map(virPtr, size, offset, static_cast<PhysicalMemory*>(handle), caller);
  });
}

aclError aclrtUnmapMem(void* virPtr) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    DeviceMemory* memory = nullptr;
    SOFTCANN_TRY(memoryBehind("aclrtUnmapMem", virPtr, memory));
    return memory->unmap(virPtr);
  });
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                          aclrtMemGranularityOptions option, size_t* granularity) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMemGetAllocationGranularity", "granularity", granularity));
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtMemGetAllocationGranularity: unknown option " + std::to_string(option));
    }
    Device* device = nullptr;
    SOFTCANN_TRY(checkProperties("aclrtMemGetAllocationGranularity", prop, device));
    *granularity = kSegmentAlignment;
    return ACL_SUCCESS;
  });
}

}  // extern "C"
