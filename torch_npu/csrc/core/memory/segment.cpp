#include "torch_npu/csrc/core/memory/segment.h"

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

namespace {

// Physical memory for one granule; null if the device has none left.
aclrtDrvMemHandle allocatePhysical(c10::DeviceIndex device, size_t size) {
  aclrtPhysicalMemProp properties{};
  properties.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  properties.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  properties.memAttr = ACL_HBM_MEM_HUGE;
  properties.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = static_cast<uint32_t>(device);
  aclrtDrvMemHandle handle = nullptr;
  const aclError code = acl::api().aclrtMallocPhysical(&handle, size, &properties, 0);
  if (acl::isOutOfMemory(code)) {
    return nullptr;
  }
  NPU_CHECK_CODE(code, "aclrtMallocPhysical");
  return handle;
}

}  // namespace

Segment::Segment(c10::DeviceIndex device, void* base, size_t size, size_t granule)
    : device_(device), base_(static_cast<char*>(base)), size_(size), granule_(granule) {
  if (granule != 0) {
    handles_.resize(size / granule);
  } else {
    mapped_bytes_ = size;
  }
}

std::unique_ptr<Segment> Segment::allocate(c10::DeviceIndex device, size_t size) {
  ensureContext(device);
  void* base = nullptr;
  const aclError code = acl::api().aclrtMalloc(&base, size, ACL_MEM_MALLOC_HUGE_FIRST);
  if (acl::isOutOfMemory(code)) {
    return nullptr;
  }
  NPU_CHECK_CODE(code, "aclrtMalloc");
  return std::unique_ptr<Segment>(new Segment(device, base, size, 0));
}

std::unique_ptr<Segment> Segment::reserve(c10::DeviceIndex device, size_t capacity,
                                          size_t granule) {
  ensureContext(device);
  const size_t size = (capacity + granule - 1) / granule * granule;
  void* base = nullptr;
  NPU_CHECK(acl::api().aclrtReserveMemAddress(&base, size, 0, nullptr, 0));
  return std::unique_ptr<Segment>(new Segment(device, base, size, granule));
}

bool Segment::expandableSupported() {
  const acl::RuntimeApi& api = acl::api();
  return api.aclrtReserveMemAddress != nullptr && api.aclrtReleaseMemAddress != nullptr &&
         api.aclrtMallocPhysical != nullptr && api.aclrtFreePhysical != nullptr &&
         api.aclrtMapMem != nullptr && api.aclrtUnmapMem != nullptr;
}

Segment::~Segment() {
  if (acl::handlesAbandoned()) {
    return;
  }
  try {
    ensureContext(device_);
    if (!expandable()) {
      NPU_CHECK_WARN(acl::api().aclrtFree(base_));
      return;
    }
    unmap(0, size_);
    NPU_CHECK_WARN(acl::api().aclrtReleaseMemAddress(base_));
  } catch (const std::exception& error) {
    TORCH_WARN("device memory could not be given back: ", error.what());
  }
}

bool Segment::map(size_t offset, size_t size) {
  ensureContext(device_);
  for (size_t done = 0; done < size; done += granule_) {
    const size_t index = (offset + done) / granule_;
    const aclrtDrvMemHandle handle = allocatePhysical(device_, granule_);
    if (handle == nullptr) {
      unmap(offset, done);
      return false;
    }
    const aclError code = acl::api().aclrtMapMem(base_ + index * granule_, granule_, 0, handle, 0);
    if (code != ACL_SUCCESS) {
      NPU_CHECK_WARN(acl::api().aclrtFreePhysical(handle));
      unmap(offset, done);
      if (acl::isOutOfMemory(code)) {
        return false;
      }
      NPU_CHECK_CODE(code, "aclrtMapMem");
    }
    handles_[index] = handle;
    mapped_bytes_ += granule_;
  }
  return true;
}

void Segment::unmap(size_t offset, size_t size) noexcept {
  for (size_t index = offset / granule_; index < (offset + size) / granule_; ++index) {
    if (handles_[index] == nullptr) {
      continue;
    }
    NPU_CHECK_WARN(acl::api().aclrtUnmapMem(base_ + index * granule_));
    NPU_CHECK_WARN(acl::api().aclrtFreePhysical(handles_[index]));
    handles_[index] = nullptr;
    mapped_bytes_ -= granule_;
  }
}

DeviceMemory queryDeviceMemory(c10::DeviceIndex device) {
  ensureContext(device);
  DeviceMemory memory;
  NPU_CHECK(acl::api().aclrtGetMemInfo(ACL_HBM_MEM, &memory.free, &memory.total));
  if (memory.total == 0) {
    // Cards without high bandwidth memory.
    NPU_CHECK(acl::api().aclrtGetMemInfo(ACL_DDR_MEM, &memory.free, &memory.total));
  }
  return memory;
}

}  // namespace torch_npu
