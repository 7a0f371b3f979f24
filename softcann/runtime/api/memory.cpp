// Device and host memory: allocating, freeing, asking.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "runtime/api/checks.h"
#include "runtime/core/device.h"
#include "runtime/core/host_memory.h"
#include "runtime/core/message.h"

using namespace softcann;

namespace {

// CANN promises kernels 32 readable bytes behind what aclrtMalloc() was asked for.
constexpr size_t kReadBehind = 32;
constexpr uint32_t kModifiers =
    ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;

aclError allocate(const char* function, const void* caller, Device* device, void** pointer,
                  size_t size, size_t padding, uint32_t policy) {
  SOFTCANN_TRY(requireNotNull(function, "devPtr", pointer));
  if (size == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the size is 0");
  }
  // All policies give the same memory here; one that does not exist is still a mistake.
  if ((policy & ~kModifiers) > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": there is no policy " + std::to_string(policy));
  }
  if (device == nullptr) {
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    device = context->device();
  }
  return device->memory().allocate(size, padding, function, caller, pointer);
}

aclError freeDevice(const char* function, void* pointer) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "devPtr", pointer));
    DeviceMemory* memory = DeviceMemory::of(pointer);
    if (memory == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) + ": " + addressText(pointer) + " is not device memory");
    }
    return memory->free(pointer, function);
  });
}

aclError synchronizeCurrentDevice() {
  Context* context = nullptr;
  SOFTCANN_TRY(currentContext(context));
  return context->device()->synchronize(Deadline::never());
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  const void* caller = __builtin_return_address(0);
  return entry(
      [&] { return allocate("aclrtMalloc", caller, nullptr, devPtr, size, kReadBehind, policy); });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  const void* caller = __builtin_return_address(0);
  return entry(
      [&] { return allocate("aclrtMallocAlign32", caller, nullptr, devPtr, size, 0, policy); });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  const void* caller = __builtin_return_address(0);
  return entry([&] {
    return allocate("aclrtMallocCached", caller, nullptr, devPtr, size, kReadBehind, policy);
  });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                            aclrtMallocConfig* cfg) {
  const void* caller = __builtin_return_address(0);
  return entry([&]() -> aclError {
    Device* device = nullptr;
    for (size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
      const aclrtMallocAttribute& attribute = cfg->attrs[i];
      if (attribute.attr == ACL_RT_MEM_ATTR_DEVICE_ID) {
        aclError code;
        device = Device::find(attribute.value.deviceId, code);
        if (device == nullptr) return code;
      } else if (attribute.attr != ACL_RT_MEM_ATTR_MODULE_ID) {
        return fail(ACL_ERROR_API_NOT_SUPPORT,
                    "aclrtMallocWithCfg: the attribute " + std::to_string(attribute.attr) +
                        " is not supported; only the module and the device are");
      }
    }
    return allocate("aclrtMallocWithCfg", caller, device, devPtr, size, kReadBehind, policy);
  });
}

// Task schedulers see all device memory.
aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                     aclrtMallocConfig* cfg) {
  return aclrtMallocWithCfg(devPtr, size, policy, cfg);
}

aclError aclrtFree(void* devPtr) { return freeDevice("aclrtFree", devPtr); }

aclError aclrtFreeWithDevSync(void* devPtr) {
  if (isFinalized()) return ACL_SUCCESS;
  const aclError synchronized = entry(synchronizeCurrentDevice);
  const aclError freed = freeDevice("aclrtFreeWithDevSync", devPtr);
  return freed != ACL_SUCCESS ? freed : synchronized;
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMallocHost", "hostPtr", hostPtr));
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocHost: the size is 0");
    return allocateHost(size, hostPtr);
  });
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  for (size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
    const aclrtMallocAttribute& attribute = cfg->attrs[i];
    const bool plain = attribute.attr == ACL_RT_MEM_ATTR_MODULE_ID ||
                       (attribute.attr == ACL_RT_MEM_ATTR_VA_FLAG && attribute.value.vaFlag <= 1);
    if (!plain) {
      return fail(ACL_ERROR_API_NOT_SUPPORT, "aclrtMallocHostWithCfg: the attribute " +
                                                 std::to_string(attribute.attr) +
                                                 " is not supported");
    }
  }
  return aclrtMallocHost(ptr, size);
}

aclError aclrtFreeHost(void* hostPtr) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtFreeHost", "hostPtr", hostPtr));
    return freeHost(hostPtr, "aclrtFreeHost");
  });
}

aclError aclrtFreeHostWithDevSync(void* hostPtr) {
  if (isFinalized()) return ACL_SUCCESS;
  const aclError synchronized = entry(synchronizeCurrentDevice);
  const aclError freed = aclrtFreeHost(hostPtr);
  return freed != ACL_SUCCESS ? freed : synchronized;
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtHostRegister", "ptr", ptr));
    if (size == 0) return fail(ACL_ERROR_INVALID_PARAM, "aclrtHostRegister: the size is 0");
    if ((flag & ACL_HOST_REG_IOMEMORY) != 0) {
      return fail(ACL_ERROR_API_NOT_SUPPORT,
                  "aclrtHostRegister: I/O memory cannot be registered; use ordinary host memory");
    }
    return registerHost(ptr, size);
  });
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtHostRegister", "devPtr", devPtr));
    const auto flag = static_cast<uint32_t>(ACL_HOST_REG_MAPPED) | static_cast<uint32_t>(type);
    SOFTCANN_TRY(aclrtHostRegisterV2(ptr, size, flag));
    *devPtr = ptr;
    return ACL_SUCCESS;
  });
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtHostGetDevicePointer", "pDevice", pDevice));
    if (flag != 0) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtHostGetDevicePointer: the flag must be 0");
    }
    if (!isPinned(pHost, 1)) {
      return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
                  "aclrtHostGetDevicePointer: " + addressText(pHost) + " is not registered");
    }
    *pDevice = pHost;
    return ACL_SUCCESS;
  });
}

aclError aclrtHostUnregister(void* ptr) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&] { return unregisterHost(ptr); });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtPointerGetAttributes", "ptr", ptr));
    SOFTCANN_TRY(requireNotNull("aclrtPointerGetAttributes", "attributes", attributes));
    std::memset(attributes, 0, sizeof(*attributes));
    attributes->pageSize = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
    DeviceMemory* memory = DeviceMemory::of(ptr);
    if (memory != nullptr && memory->find(ptr)) {
      attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
      attributes->location.id = static_cast<uint32_t>(memory->device());
    } else {
      attributes->location.type =
          isPinned(ptr, 1) ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtMemGetAddressRange", "ptr", ptr));
    void* base = nullptr;
    size_t size = 0;
    DeviceMemory* memory = DeviceMemory::of(ptr);
    if (memory != nullptr) {
      const auto range = memory->find(ptr);
      if (range) {
        base = reinterpret_cast<void*>(range->begin);
        size = range->size;
      }
    } else {
      findPinned(ptr, &base, &size);
    }
    if (size == 0) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtMemGetAddressRange: no allocation holds " + addressText(ptr));
    }
    if (pbase != nullptr) *pbase = base;
    if (psize != nullptr) *psize = size;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetMemInfo", "free", free));
    SOFTCANN_TRY(requireNotNull("aclrtGetMemInfo", "total", total));
    if (attr < ACL_DDR_MEM || attr > ACL_MEM_P2P_HUGE1G) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtGetMemInfo: there is no memory attribute " + std::to_string(attr));
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    const DeviceMemory& memory = context->device()->memory();
    *total = memory.capacity();
    *free = memory.available();
    return ACL_SUCCESS;
  });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                              size_t* outputNum) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetMemUsageInfo", "memUsageInfo", memUsageInfo));
    SOFTCANN_TRY(requireNotNull("aclrtGetMemUsageInfo", "outputNum", outputNum));
    aclError code;
    Device* device = Device::find(deviceId, code);
    if (device == nullptr) return code;
    // One component: everything that this process allocates goes through this library.
    *outputNum = inputNum == 0 ? 0 : 1;
    if (inputNum == 0) return ACL_SUCCESS;
    std::memset(memUsageInfo, 0, sizeof(*memUsageInfo));
    std::snprintf(memUsageInfo->name, sizeof(memUsageInfo->name), "APP");
    memUsageInfo->curMemSize = device->memory().used();
    memUsageInfo->memPeakSize = device->memory().peak();
    return ACL_SUCCESS;
  });
}

}  // extern "C"
