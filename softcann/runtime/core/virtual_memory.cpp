// DeviceMemory's other half: reserving addresses and mapping physical memory behind them.
#include <algorithm>
#include <iterator>
#include <string>

#include "runtime/core/address_space.h"
#include "runtime/core/device_memory.h"
#include "runtime/core/message.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

uintptr_t addressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }
bool isAligned(size_t value) { return value % kSegmentAlignment == 0; }

}  // namespace

aclError DeviceMemory::reserve(size_t size, size_t alignment, void** pointer) {
  if (size == 0 || size > SIZE_MAX - kSegmentAlignment) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtReserveMemAddress: the size cannot be " + std::to_string(size));
  }
  size = (size + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
  if ((alignment & (alignment - 1)) != 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtReserveMemAddress: the alignment must be a power of two");
  }
  std::lock_guard lock(mutex_);
  const auto begin = addresses().allocate(size, std::max(alignment, kSegmentAlignment));
  if (!begin) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "aclrtReserveMemAddress: device " + std::to_string(device_) +
                    " has no address range of " + bytesText(size) +
                    " left (SOFTCANN_ADDRESS_SPACE sets how much there is)");
  }
  reservations_.emplace(*begin, size);
  *pointer = reinterpret_cast<void*>(*begin);
  return ACL_SUCCESS;
}

aclError DeviceMemory::release(void* pointer) {
  std::lock_guard lock(mutex_);
  const auto found = reservations_.find(addressOf(pointer));
  if (found == reservations_.end()) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtReleaseMemAddress: " + addressText(pointer) +
                                             " is not the beginning of a reserved range");
  }
  const auto mapping = allocations_.lower_bound(found->first);
  if (mapping != allocations_.end() && mapping->first < found->first + found->second) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtReleaseMemAddress: memory is still mapped at " +
                                             addressText(reinterpret_cast<void*>(mapping->first)) +
                                             "; call aclrtUnmapMem() first");
  }
  addresses().release(found->first, found->second);
  reservations_.erase(found);
  return ACL_SUCCESS;
}

aclError DeviceMemory::createPhysical(size_t size, PhysicalMemory** memory) {
  if (size == 0 || !isAligned(size)) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtMallocPhysical: the size must be a multiple of " +
                                             bytesText(kSegmentAlignment) + ", not " +
                                             std::to_string(size));
  }
  std::lock_guard lock(mutex_);
  if (const aclError code = charge(size); code != ACL_SUCCESS) return code;
  const int fd = createSegmentFile(size);
  if (fd < 0) {
    refund(size);
    return ACL_ERROR_RT_MEMORY_ALLOCATION;
  }
  auto* created = new PhysicalMemory;
  created->fd = fd;
  created->size = size;
  physical_.insert(created);
  *memory = created;
  return ACL_SUCCESS;
}

bool DeviceMemory::owns(PhysicalMemory* memory) {
  std::lock_guard lock(mutex_);
  return physical_.count(memory) != 0;
}

PhysicalMemory* DeviceMemory::retainPhysical(const void* pointer) {
  std::lock_guard lock(mutex_);
  const auto mapping = holding(addressOf(pointer));
  if (mapping == allocations_.end() || mapping->second.physical == nullptr) return nullptr;
  ++mapping->second.physical->handles;
  return mapping->second.physical;
}

aclError DeviceMemory::freePhysical(PhysicalMemory* memory) {
  std::lock_guard lock(mutex_);
  if (physical_.count(memory) == 0 || memory->handles == 0) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtFreePhysical: the handle is not physical memory of device " +
                    std::to_string(device_) + ", or was freed before");
  }
  --memory->handles;
  destroyIfUnused(memory);
  return ACL_SUCCESS;
}

void DeviceMemory::destroyIfUnused(PhysicalMemory* memory) noexcept {
  if (memory->handles > 0 || memory->mappings > 0) return;
  closeSegmentFile(memory->fd);
  refund(memory->size);
  physical_.erase(memory);
  delete memory;
}

aclError DeviceMemory::map(void* pointer, size_t size, size_t offset, PhysicalMemory* memory,
                           const void* caller) {
  std::lock_guard lock(mutex_);
  const uintptr_t begin = addressOf(pointer);
  if (physical_.count(memory) == 0 || memory->handles == 0) {
    return fail(
        ACL_ERROR_RT_INVALID_HANDLE,
        "aclrtMapMem: the handle is not physical memory of device " + std::to_string(device_));
  }
  if (size == 0 || !isAligned(size) || !isAligned(offset) || !isAligned(begin) ||
      size > memory->size || offset > memory->size - size) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtMapMem: address, size and offset must be multiples of " +
                    bytesText(kSegmentAlignment) + " and lie within the " +
                    bytesText(memory->size) + " of the handle");
  }
  const auto after = reservations_.upper_bound(begin);
  const bool reserved = after != reservations_.begin() &&
                        begin + size <= std::prev(after)->first + std::prev(after)->second;
  if (!reserved) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtMapMem: " + addressText(pointer) + " and " + bytesText(size) +
                    " behind it are not reserved; call aclrtReserveMemAddress() first");
  }
  const auto next = allocations_.lower_bound(begin);
  if (holding(begin) != allocations_.end() ||
      (next != allocations_.end() && next->first < begin + size)) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtMapMem: memory is mapped already at " + addressText(pointer));
  }
  if (const aclError code = mapMirror(begin, size, memory->fd, offset); code != ACL_SUCCESS) {
    return code;
  }
  ++memory->mappings;
  AllocationTrace* trace = recordAllocation(begin, size, "aclrtMapMem", caller);
  allocations_.emplace(begin, Allocation{size, size, nullptr, memory, trace});
  return ACL_SUCCESS;
}

void DeviceMemory::unmapAllocation(Allocations::iterator mapping) noexcept {
  const Allocation allocation = mapping->second;
  unmapMirror(mapping->first, allocation.size);
  retireTrace(allocation.trace);
  allocations_.erase(mapping);
  --allocation.physical->mappings;
  destroyIfUnused(allocation.physical);
}

aclError DeviceMemory::unmap(void* pointer) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(addressOf(pointer));
  if (found == allocations_.end() || found->second.physical == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtUnmapMem: " + addressText(pointer) + " is not the beginning of a mapping");
  }
  unmapAllocation(found);
  return ACL_SUCCESS;
}

}  // namespace softcann
