// DeviceMemory's third part: memory that several processes use. See Note [Sharing with other
// processes].
#include <algorithm>
#include <string>

#include "runtime/core/address_space.h"
#include "runtime/core/device_memory.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/message.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr size_t kPage = 4096;

size_t roundUp(size_t size, size_t unit) { return (size + unit - 1) & ~(unit - 1); }

}  // namespace

aclError DeviceMemory::exportRange(const char* function, const void* pointer, size_t size,
                                   bool admits_all, std::string* key) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  std::lock_guard lock(mutex_);
  const auto found = holding(address);
  if (found == allocations_.end()) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": no allocation holds " + addressText(pointer));
  }
  auto& [begin, allocation] = *found;
  if (size > begin + allocation.size - address) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + std::to_string(size) +
                                             " bytes at " + addressText(pointer) +
                                             " go beyond the allocation of " +
                                             std::to_string(allocation.size) + " bytes");
  }
  IpcExport shared;
  if (allocation.segment != nullptr) {
    shared.fd = allocation.segment->fd;
    shared.offset = address - allocation.segment->begin;
  } else if (allocation.imported != nullptr) {
    shared.fd = allocation.imported->fd;
    shared.offset = allocation.imported->offset + (address - begin);
  } else {
    return fail(ACL_ERROR_API_NOT_SUPPORT,
                std::string(function) + ": " + addressText(pointer) +
                    " was mapped with aclrtMapMem(); only memory of aclrtMalloc() can be shared");
  }
  shared.size = size;
  shared.address = address;
  shared.admits_all = admits_all;
  if (const aclError code = publishExport(shared, key); code != ACL_SUCCESS) return code;
  allocation.exported = true;
  return ACL_SUCCESS;
}

ImportedMemory* DeviceMemory::findImport(const std::string& key) noexcept {
  for (const auto& import : imports_) {
    if (import->key == key) return import.get();
  }
  return nullptr;
}

aclError DeviceMemory::importByKey(const std::string& key, const void* caller, void** pointer) {
  const auto again = [&](ImportedMemory* known) {
    ++known->uses;
    *pointer = reinterpret_cast<void*>(known->begin + known->offset % kPage);
    return ACL_SUCCESS;
  };
  {
    std::lock_guard lock(mutex_);
    if (ImportedMemory* known = findImport(key)) return again(known);
  }
  // Not under the lock: the answer may take long.
  IpcImport import;
  const aclError code = fetchExport("aclrtIpcMemImportByKey", IpcKind::kMemory, key, &import);
  if (code != ACL_SUCCESS) return code;
  std::lock_guard lock(mutex_);
  if (ImportedMemory* known = findImport(key)) {
    closeSegmentFile(import.fd);
    return again(known);
  }
  auto memory = std::make_unique<ImportedMemory>();
  memory->key = key;
  memory->fd = import.fd;
  memory->offset = import.offset;
  memory->uses = 1;
  if (const aclError mapped = mapImport(*memory, import.size, caller, pointer);
      mapped != ACL_SUCCESS) {
    closeSegmentFile(import.fd);
    return mapped;
  }
  imports_.push_back(std::move(memory));
  return ACL_SUCCESS;
}

// Only whole pages can be mapped, so the range begins where the first page does.
aclError DeviceMemory::mapImport(ImportedMemory& memory, size_t size, const void* caller,
                                 void** pointer) {
  const size_t lead = memory.offset % kPage;
  memory.mapped = roundUp(lead + size, kPage);
  memory.reserved = roundUp(memory.mapped, kSegmentAlignment);
  const auto begin = addresses().allocate(memory.reserved, kSegmentAlignment);
  if (!begin) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "aclrtIpcMemImportByKey: device " + std::to_string(device_) +
                    " has no address range of " + bytesText(memory.reserved) +
                    " left (SOFTCANN_ADDRESS_SPACE sets how much there is)");
  }
  memory.begin = *begin;
  const aclError code = mapMirror(*begin, memory.mapped, memory.fd, memory.offset - lead);
  if (code != ACL_SUCCESS) {
    addresses().release(*begin, memory.reserved);
    return code;
  }
  AllocationTrace* trace = recordAllocation(*begin + lead, size, "aclrtIpcMemImportByKey", caller);
  Allocation allocation{size, size, nullptr, nullptr, trace};
  allocation.imported = &memory;
  allocations_.emplace(*begin + lead, allocation);
  *pointer = reinterpret_cast<void*>(*begin + lead);
  return ACL_SUCCESS;
}

bool DeviceMemory::closeImport(const std::string& key) noexcept {
  std::lock_guard lock(mutex_);
  ImportedMemory* memory = findImport(key);
  if (memory == nullptr) return false;
  if (--memory->uses == 0) unmapImport(holding(memory->begin + memory->offset % kPage));
  return true;
}

void DeviceMemory::unmapImport(Allocations::iterator allocation) noexcept {
  const Allocation closed = allocation->second;
  if (closed.exported) withdrawExportsOf(allocation->first, closed.size);
  allocations_.erase(allocation);
  retireTrace(closed.trace);
  ImportedMemory* memory = closed.imported;
  unmapMirror(memory->begin, memory->mapped);
  closeSegmentFile(memory->fd);
  addresses().release(memory->begin, memory->reserved);
  std::erase_if(imports_, [&](const auto& import) { return import.get() == memory; });
}

}  // namespace softcann
