#include "torch_npu/csrc/core/npu_device_properties.h"

#include <array>
#include <mutex>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/npu_guard.h"

namespace torch_npu {
namespace {

int64_t deviceAttribute(DeviceIndex device, aclrtDevAttr attribute) {
  const auto get_info = acl::api().aclrtGetDeviceInfo;
  int64_t value = 0;
  if (get_info == nullptr ||
      get_info(static_cast<uint32_t>(device), attribute, &value) != ACL_SUCCESS) {
    return 0;
  }
  return value;
}

std::string deviceUuid(DeviceIndex device) {
  const auto get_uuid = acl::api().aclrtDeviceGetUuid;
  aclrtUuid uuid{};
  if (get_uuid == nullptr || get_uuid(device, &uuid) != ACL_SUCCESS) return {};
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xF];
  }
  return text;
}

size_t totalMemory(DeviceIndex device) {
  const int64_t known = deviceAttribute(device, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE);
  if (known > 0) return static_cast<size_t>(known);
  const NPUGuard guard(device);
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  NPU_CHECK(acl::api().aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  return total_bytes;
}

NPUDeviceProperties readProperties(DeviceIndex device) {
  NPUDeviceProperties properties;
  properties.name = socName();
  properties.total_memory = totalMemory(device);
  properties.cube_core_num = deviceAttribute(device, ACL_DEV_ATTR_CUBE_CORE_NUM);
  properties.vector_core_num = deviceAttribute(device, ACL_DEV_ATTR_VECTOR_CORE_NUM);
  properties.ai_cpu_core_num = deviceAttribute(device, ACL_DEV_ATTR_AICPU_CORE_NUM);
  properties.L2_cache_size = deviceAttribute(device, ACL_DEV_ATTR_L2_CACHE_SIZE);
  properties.uuid = deviceUuid(device);
  return properties;
}

}  // namespace

const NPUDeviceProperties& deviceProperties(DeviceIndex device) {
  struct Slot {
    std::once_flag once;
    NPUDeviceProperties properties;
  };
  static auto* const slots = new std::array<Slot, kMaxDevices>();
  lazyInit();
  if (device < 0) device = currentDevice();
  checkDeviceIndex(device);
  auto& slot = (*slots)[static_cast<size_t>(device)];
  std::call_once(slot.once, [&slot, device] { slot.properties = readProperties(device); });
  return slot.properties;
}

std::string socName() {
  lazyInit();
  const auto get_name = acl::api().aclrtGetSocName;
  const char* name = get_name != nullptr ? get_name() : nullptr;
  return name != nullptr ? name : "";
}

std::string cannVersion() {
  if (!acl::available()) return {};
  const auto get_version = acl::api().aclsysGetCANNVersion;
  aclCANNPackageVersion version{};
  if (get_version == nullptr || get_version(ACL_PKG_NAME_CANN, &version) != ACL_SUCCESS) return {};
  version.version[sizeof(version.version) - 1] = '\0';
  return version.version;
}

}  // namespace torch_npu
