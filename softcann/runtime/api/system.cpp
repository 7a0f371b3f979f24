// What is installed and what the imitated chip is.
#include <cstring>

#include "runtime/api/checks.h"
#include "runtime/core/platform.h"

using namespace softcann;

namespace {

// The CANN release whose interface this library offers.
constexpr const char* kCannVersion = "9.1.0";
constexpr int kCannMajor = 9;
constexpr int kCannMinor = 1;
constexpr int kCannRelease = 0;

constexpr aclCannAttr kAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};

aclError requirePlatform(const Platform*& settings) {
  settings = platform();
  return settings != nullptr ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

aclError requireVisible(uint32_t id, int& physical_id) {
  VisibleDevices visible;
  SOFTCANN_TRY(readVisibleDevices(visible));
  const std::vector<int>& ids = visible.physical_ids;
  if (id >= ids.size()) {
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "there is no device " + std::to_string(id) + ": " +
                                                   std::to_string(ids.size()) +
                                                   " devices are visible");
  }
  physical_id = ids[id];
  return ACL_SUCCESS;
}

template <size_t size>
void copyText(char (&to)[size], const char* text) {
  std::memset(to, 0, size);
  std::strncpy(to, text, size - 1);
}

bool findDeviceAttribute(const Platform& settings, int physical_id, aclrtDevAttr attribute,
                         int64_t* value) {
  const SocSpec& soc = *settings.soc;
  switch (static_cast<int>(attribute)) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      *value = soc.aicpu_cores;
      return true;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = soc.cube_cores;
      return true;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = soc.vector_cores;
      return true;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
      *value = soc.unified_buffer_bytes;
      return true;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<int64_t>(settings.device_memory);
      return true;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = soc.l2_bytes;
      return true;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      return true;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = physical_id;
      return true;
    case ACL_DEV_ATTR_NPU_ARCH:
      *value = soc.architecture;
      return true;
    default:
      return false;
  }
}

}  // namespace

extern "C" {

const char* aclrtGetSocName(void) {
  const Platform* settings = platform();
  return settings == nullptr ? nullptr : settings->soc->name;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclsysGetCANNVersion", "version", version));
    if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclsysGetCANNVersion: there is no package " + std::to_string(name));
    }
    copyText(version->version, kCannVersion);
    copyText(version->majorVersion, std::to_string(kCannMajor).c_str());
    copyText(version->minorVersion, std::to_string(kCannMinor).c_str());
    copyText(version->releaseVersion, std::to_string(kCannRelease).c_str());
    copyText(version->patchVersion, "");
    copyText(version->reserved, "");
    return ACL_SUCCESS;
  });
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclsysGetVersionStr", "pkgName", pkgName));
    SOFTCANN_TRY(requireNotNull("aclsysGetVersionStr", "versionStr", versionStr));
    std::memcpy(versionStr, kCannVersion, std::strlen(kCannVersion) + 1);
    return ACL_SUCCESS;
  });
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclsysGetVersionNum", "pkgName", pkgName));
    SOFTCANN_TRY(requireNotNull("aclsysGetVersionNum", "versionNum", versionNum));
    *versionNum = kCannMajor * 10'000'000 + kCannMinor * 100'000 + kCannRelease * 1'000;
    return ACL_SUCCESS;
  });
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetVersion", "majorVersion", majorVersion));
    SOFTCANN_TRY(requireNotNull("aclrtGetVersion", "minorVersion", minorVersion));
    SOFTCANN_TRY(requireNotNull("aclrtGetVersion", "patchVersion", patchVersion));
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
  });
}

aclError aclGetCannAttributeList(const aclCannAttr** cannAttrList, size_t* num) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclGetCannAttributeList", "cannAttrList", cannAttrList));
    SOFTCANN_TRY(requireNotNull("aclGetCannAttributeList", "num", num));
    *cannAttrList = kAttributes;
    *num = sizeof(kAttributes) / sizeof(kAttributes[0]);
    return ACL_SUCCESS;
  });
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t* value) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclGetCannAttribute", "value", value));
    if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclGetCannAttribute: there is no attribute " + std::to_string(cannAttr));
    }
    *value = 0;
    for (const aclCannAttr supported : kAttributes) {
      if (supported == cannAttr) *value = 1;
    }
    return ACL_SUCCESS;
  });
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclGetDeviceCapability", "value", value));
    const Platform* settings = nullptr;
    SOFTCANN_TRY(requirePlatform(settings));
    int physical_id = -1;
    SOFTCANN_TRY(requireVisible(deviceId, physical_id));
    switch (deviceInfo) {
      case ACL_DEVICE_INFO_AI_CORE_NUM:
        *value = settings->soc->cube_cores;
        return ACL_SUCCESS;
      case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        *value = settings->soc->vector_cores;
        return ACL_SUCCESS;
      case ACL_DEVICE_INFO_L2_SIZE:
        *value = settings->soc->l2_bytes;
        return ACL_SUCCESS;
      default:
        return fail(ACL_ERROR_INVALID_PARAM,
                    "aclGetDeviceCapability: there is no capability " + std::to_string(deviceInfo));
    }
  });
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetDeviceInfo", "value", value));
    const Platform* settings = nullptr;
    SOFTCANN_TRY(requirePlatform(settings));
    int physical_id = -1;
    SOFTCANN_TRY(requireVisible(deviceId, physical_id));
    if (findDeviceAttribute(*settings, physical_id, attr, value)) return ACL_SUCCESS;
    return fail(ACL_ERROR_API_NOT_SUPPORT, "aclrtGetDeviceInfo: the attribute " +
                                               std::to_string(attr) + " is not known for " +
                                               settings->soc->name);
  });
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType,
                                  int32_t* value) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetDeviceCapability", "value", value));
    const Platform* settings = nullptr;
    SOFTCANN_TRY(requirePlatform(settings));
    int physical_id = -1;
    SOFTCANN_TRY(requireVisible(static_cast<uint32_t>(deviceId), physical_id));
    if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCapability: there is no feature " +
                                               std::to_string(devFeatureType));
    }
    *value = ACL_DEV_FEATURE_NOT_SUPPORT;
    return ACL_SUCCESS;
  });
}

// The same in every process of the machine, and different for each device.
aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtDeviceGetUuid", "uuid", uuid));
    const Platform* settings = nullptr;
    SOFTCANN_TRY(requirePlatform(settings));
    int physical_id = -1;
    SOFTCANN_TRY(requireVisible(static_cast<uint32_t>(deviceId), physical_id));
    std::memset(uuid, 0, sizeof(*uuid));
    std::memcpy(uuid->bytes, "softcann", 8);
    uuid->bytes[15] = static_cast<char>(physical_id);
    return ACL_SUCCESS;
  });
}

}  // extern "C"
