#include "runtime/core/host_memory.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>

#include "runtime/core/message.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr size_t kPageSize = 4096;

struct Pinned {
  size_t size;
  bool allocated;                   // else registered
  std::multiset<uintptr_t> within;  // where registered ranges within an allocated one begin
};

struct PinnedRanges {
  std::shared_mutex mutex;
  std::map<uintptr_t, Pinned> ranges;

  std::map<uintptr_t, Pinned>::iterator holding(uintptr_t address) {
    auto after = ranges.upper_bound(address);
    if (after == ranges.begin()) return ranges.end();
    --after;
    return address - after->first < after->second.size ? after : ranges.end();
  }
};

PinnedRanges& pinned() {
  static auto* pinned = new PinnedRanges;
  return *pinned;
}

uintptr_t addressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

aclError allocateHost(size_t size, void** pointer) {
  if (size > SIZE_MAX / 2) return fail(ACL_ERROR_BAD_ALLOC, "aclrtMallocHost: the size is absurd");
  void* memory = std::aligned_alloc(kPageSize, (size + kPageSize - 1) & ~(kPageSize - 1));
  if (memory == nullptr) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "aclrtMallocHost: the host has no " + bytesText(size) + " left");
  }
  std::unique_lock lock(pinned().mutex);
  pinned().ranges[addressOf(memory)] = {.size = size, .allocated = true, .within = {}};
  *pointer = memory;
  return ACL_SUCCESS;
}

aclError freeHost(void* pointer, const char* function) {
  std::unique_lock lock(pinned().mutex);
  const auto found = pinned().ranges.find(addressOf(pointer));
  if (found == pinned().ranges.end() || !found->second.allocated) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": " + addressText(pointer) +
                    " is not from aclrtMallocHost(); was it freed before?");
  }
  pinned().ranges.erase(found);
  std::free(pointer);
  return ACL_SUCCESS;
}

aclError registerHost(void* pointer, size_t size) {
  std::unique_lock lock(pinned().mutex);
  auto& ranges = pinned().ranges;
  const uintptr_t begin = addressOf(pointer);
  const auto next = ranges.lower_bound(begin);
  const auto around = pinned().holding(begin);
  if (around != ranges.end() && around->second.allocated &&
      size <= around->first + around->second.size - begin) {
    around->second.within.insert(begin);
    return ACL_SUCCESS;
  }
  if (around != ranges.end() || (next != ranges.end() && next->first < begin + size)) {
    return fail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
                "aclrtHostRegister: part of the range is registered already");
  }
  ranges[begin] = {.size = size, .allocated = false, .within = {}};
  return ACL_SUCCESS;
}

aclError unregisterHost(void* pointer) {
  std::unique_lock lock(pinned().mutex);
  const auto around = pinned().holding(addressOf(pointer));
  if (around != pinned().ranges.end()) {
    auto& within = around->second.within;
    if (const auto one = within.find(addressOf(pointer)); one != within.end()) {
      within.erase(one);
      return ACL_SUCCESS;
    }
  }
  const auto found = pinned().ranges.find(addressOf(pointer));
  if (found == pinned().ranges.end() || found->second.allocated) {
    return fail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
                "aclrtHostUnregister: " + addressText(pointer) + " is not registered");
  }
  pinned().ranges.erase(found);
  return ACL_SUCCESS;
}

bool isPinned(const void* pointer, size_t size) {
  std::shared_lock lock(pinned().mutex);
  const auto found = pinned().holding(addressOf(pointer));
  return found != pinned().ranges.end() &&
         size <= found->first + found->second.size - addressOf(pointer);
}

bool findPinned(const void* pointer, void** begin, size_t* size) {
  std::shared_lock lock(pinned().mutex);
  const auto found = pinned().holding(addressOf(pointer));
  if (found == pinned().ranges.end()) return false;
  *begin = reinterpret_cast<void*>(found->first);
  *size = found->second.size;
  return true;
}

void freeAllHost() noexcept {
  std::unique_lock lock(pinned().mutex);
  for (const auto& [begin, range] : pinned().ranges) {
    if (range.allocated) std::free(reinterpret_cast<void*>(begin));
  }
  pinned().ranges.clear();
}

}  // namespace softcann
