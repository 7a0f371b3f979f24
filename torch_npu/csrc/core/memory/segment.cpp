#include "torch_npu/csrc/core/memory/segment.h"

#include <array>
#include <mutex>
#include <unordered_map>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/memory/pluggable_allocator.h"
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

// The segments that other processes can import, by key.
struct Exports {
  std::mutex mutex;
  std::unordered_map<std::string, char*> bases;
};

Exports& exports() {
  static auto* exports = new Exports;
  return *exports;
}

// What CANN asks callers to offer for a key.
constexpr size_t kKeySize = 65;

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

std::unique_ptr<Segment> Segment::allocateFrom(std::shared_ptr<PluggableAllocator> source,
                                               c10::DeviceIndex device, size_t size,
                                               c10::StreamId stream) {
  void* base = source->allocate(size, device, stream);
  if (base == nullptr) {
    return nullptr;
  }
  std::unique_ptr<Segment> segment(new Segment(device, base, size, 0));
  segment->stream = stream;
  segment->source_ = std::move(source);
  return segment;
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
    if (!export_key_.empty()) {
      std::lock_guard<std::mutex> guard(exports().mutex);
      exports().bases.erase(export_key_);
      NPU_CHECK_WARN(acl::api().aclrtIpcMemClose(export_key_.c_str()));
    }
    if (foreign()) {
      source_->free(base_, size_, device_, stream);
      return;
    }
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

std::string Segment::exportKeyOf(void* base, size_t size) {
  const acl::RuntimeApi& api = acl::api();
  TORCH_CHECK_NOT_IMPLEMENTED(
      api.aclrtIpcMemGetExportKey != nullptr && api.aclrtIpcMemClose != nullptr,
      "this CANN lacks aclrtIpcMemGetExportKey: send tensors through host memory");
  std::array<char, kKeySize> key{};
  NPU_CHECK(api.aclrtIpcMemGetExportKey(base, size, key.data(), key.size(),
                                        ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  key.back() = '\0';
  return key.data();
}

const std::string& Segment::exportKey() {
  TORCH_CHECK_NOT_IMPLEMENTED(
      !expandable(),
      "memory of an expandable segment cannot be shared with other processes: leave "
      "expandable_segments:True out of PYTORCH_NPU_ALLOC_CONF, or send a copy on the CPU");
  ensureContext(device_);
  std::lock_guard<std::mutex> guard(exports().mutex);
  if (export_key_.empty()) {
    export_key_ = exportKeyOf(base_, size_);
    exports().bases[export_key_] = base_;
  }
  return export_key_;
}

char* Segment::baseOfExport(const std::string& key) {
  std::lock_guard<std::mutex> guard(exports().mutex);
  const auto found = exports().bases.find(key);
  return found != exports().bases.end() ? found->second : nullptr;
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
