#include "runtime/core/device_memory.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "runtime/core/address_space.h"
#include "runtime/core/device.h"
#include "runtime/core/host_limits.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/message.h"
#include "runtime/core/platform.h"
#include "runtime/core/process_registry.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr size_t kAllocationAlignment = 512;
constexpr size_t kChunkSize = size_t{8} << 20;
constexpr size_t kLargestSmall = size_t{512} << 10;
constexpr size_t kMostKeptBytes = size_t{512} << 20;

// Of all devices of this process.
std::atomic<size_t> promised{0};

size_t roundUp(size_t size, size_t alignment) { return (size + alignment - 1) & ~(alignment - 1); }

uintptr_t addressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

}  // namespace

DeviceMemory* DeviceMemory::of(const void* pointer) noexcept {
  const uintptr_t address = addressOf(pointer);
  if (!address_space.containsDeviceAddress(address)) return nullptr;
  const size_t index = (address - address_space.begin) / address_space.per_device;
  const auto& devices = Device::all();
  return index < devices.size() ? &devices[index]->memory() : nullptr;
}

size_t DeviceMemory::capacity() const noexcept { return platform()->device_memory; }

RangeAllocator& DeviceMemory::addresses() {
  if (!addresses_) {
    addresses_ = std::make_unique<RangeAllocator>(
        address_space.begin + static_cast<size_t>(device_) * address_space.per_device,
        address_space.per_device);
  }
  return *addresses_;
}

// ---- Accounting ----------------------------------------------------------------------------

size_t DeviceMemory::available() const noexcept {
  const size_t taken = used() + memoryUseOfOthers(device_);
  return capacity() - std::min(capacity(), taken);
}

// Publishes what it takes before it looks at what others take, so that two processes never get
// together more than there is.
aclError DeviceMemory::charge(size_t size) {
  const size_t in_use = used();
  const size_t own_room = capacity() - std::min(capacity(), in_use);
  bool fits = size <= own_room;
  if (fits) publishMemoryUse(device_, in_use + size);
  size_t with_others = memoryUseOfOthers(device_);
  if (fits && size + with_others > own_room) {
    // A request that another process is about to take back may be among them.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    with_others = memoryUseOfOthers(device_);
    fits = size + with_others <= own_room;
  }
  if (!fits) {
    publishMemoryUse(device_, in_use);
    const std::string others =
        with_others == 0
            ? ""
            : ", where other processes have " + bytesText(with_others) + " (see npu-smi info)";
    const size_t room = own_room - std::min(own_room, with_others);
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "device " + std::to_string(device_) + " is out of memory: " + bytesText(size) +
                    " asked for, " + bytesText(room) + " free of " + bytesText(capacity()) +
                    others + " (SOFTCANN_DEVICE_MEMORY sets the size)");
  }
  size_t available = 0;
  if (!platform()->overcommit && !hostHasRoom(size, promised.load(), &available)) {
    const bool dropped = dropKept() > 0;
    if (!dropped || !hostHasRoom(size, promised.load(), &available)) {
      publishMemoryUse(device_, in_use);
      return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                  "device " + std::to_string(device_) + " has room for " + bytesText(size) +
                      ", but the machine (or this process's control group) has only " +
                      bytesText(available) + " available, with " + bytesText(promised.load()) +
                      " in use by devices; SOFTCANN_OVERCOMMIT=1 lifts this check");
    }
  }
  promised.fetch_add(size);
  used_.store(in_use + size);
  peak_.store(std::max(peak_.load(), in_use + size));
  return ACL_SUCCESS;
}

void DeviceMemory::refund(size_t size) noexcept {
  promised.fetch_sub(size);
  used_.fetch_sub(size);
  publishMemoryUse(device_, used());
}

// ---- Segments ------------------------------------------------------------------------------

DeviceMemory::Segment* DeviceMemory::openSegment(size_t size) {
  const std::optional<uintptr_t> begin = addresses().allocate(size, kSegmentAlignment);
  if (!begin) {
    fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
         "device " + std::to_string(device_) + " has no address range of " + bytesText(size) +
             " left (SOFTCANN_ADDRESS_SPACE sets how much there is)");
    return nullptr;
  }
  const int fd = createSegmentFile(size);
  if (fd < 0 || mapMirror(*begin, size, fd, 0) != ACL_SUCCESS) {
    if (fd >= 0) closeSegmentFile(fd);
    addresses().release(*begin, size);
    return nullptr;
  }
  auto segment = std::make_unique<Segment>();
  segment->begin = *begin;
  segment->size = size;
  segment->fd = fd;
  return segments_.emplace(*begin, std::move(segment)).first->second.get();
}

void DeviceMemory::closeSegment(Segment* segment) noexcept {
  unmapMirror(segment->begin, segment->size);
  closeSegmentFile(segment->fd);
  addresses().release(segment->begin, segment->size);
  segments_.erase(segment->begin);
}

size_t DeviceMemory::dropKept() noexcept {
  for (Segment* segment : kept_) closeSegment(segment);
  kept_.clear();
  return std::exchange(kept_bytes_, 0);
}

aclError DeviceMemory::allocateSmall(size_t held, Segment** segment, uintptr_t* begin) {
  for (Segment* chunk : chunks_) {
    if (chunk->size - chunk->live < held) continue;
    if (const auto found = chunk->chunk->allocate(held, kAllocationAlignment)) {
      *segment = chunk;
      *begin = *found;
      return ACL_SUCCESS;
    }
  }
  Segment* chunk = openSegment(kChunkSize);
  if (chunk == nullptr) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  chunk->chunk = std::make_unique<RangeAllocator>(chunk->begin, chunk->size);
  chunks_.push_back(chunk);
  *segment = chunk;
  *begin = *chunk->chunk->allocate(held, kAllocationAlignment);
  return ACL_SUCCESS;
}

aclError DeviceMemory::allocateLarge(size_t held, Segment** segment, uintptr_t* begin) {
  const size_t size = roundUp(held, kSegmentAlignment);
  const auto kept =
      std::find_if(kept_.begin(), kept_.end(), [&](Segment* s) { return s->size == size; });
  if (kept != kept_.end()) {
    *segment = *kept;
    kept_.erase(kept);
    kept_bytes_ -= size;
  } else {
    *segment = openSegment(size);
    if (*segment == nullptr) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  }
  *begin = (*segment)->begin;
  return ACL_SUCCESS;
}

void DeviceMemory::giveBack(Segment* segment, uintptr_t begin, size_t held,
                            bool reusable) noexcept {
  segment->live -= held;
  if (segment->chunk) {
    if (reusable) {
      segment->chunk->release(begin, held);
      punchSegmentFile(segment->fd, begin - segment->begin, held);
    }
    if (segment->live > 0 || chunks_.size() == 1) return;
    std::erase(chunks_, segment);
    closeSegment(segment);
    return;
  }
  if (segment->size > kMostKeptBytes || !reusable) {
    closeSegment(segment);
    return;
  }
  kept_.push_back(segment);
  kept_bytes_ += segment->size;
  while (kept_bytes_ > kMostKeptBytes) {
    Segment* oldest = kept_.front();
    kept_.erase(kept_.begin());
    kept_bytes_ -= oldest->size;
    closeSegment(oldest);
  }
}

// ---- aclrtMalloc and aclrtFree -------------------------------------------------------------

aclError DeviceMemory::allocate(size_t size, size_t padding, const char* function,
                                const void* caller, void** pointer) {
  if (size > SIZE_MAX / 2) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                std::string(function) + ": " + bytesText(size) + " is more than any device has");
  }
  const size_t held = roundUp(size + padding, kAllocationAlignment);
  std::lock_guard lock(mutex_);
  if (const aclError code = charge(held); code != ACL_SUCCESS) return code;
  Segment* segment = nullptr;
  uintptr_t begin = 0;
  const aclError code = held <= kLargestSmall ? allocateSmall(held, &segment, &begin)
                                              : allocateLarge(held, &segment, &begin);
  if (code != ACL_SUCCESS) {
    refund(held);
    return code;
  }
  segment->live += held;
  AllocationTrace* trace = recordAllocation(begin, size, function, caller);
  allocations_.emplace(begin, Allocation{size, held, segment, nullptr, trace});
  *pointer = reinterpret_cast<void*>(begin);
  return ACL_SUCCESS;
}

aclError DeviceMemory::free(void* pointer, const char* function) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(addressOf(pointer));
  if (found == allocations_.end() || found->second.segment == nullptr) {
    const auto around = holding(addressOf(pointer));
    const std::string address = addressText(pointer);
    if (found != allocations_.end()) {
      const bool imported = found->second.imported != nullptr;
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) + ": " + address +
                      (imported ? " is memory of another process: use aclrtIpcMemClose()"
                                : " is mapped memory: use aclrtUnmapMem()"));
    }
    return fail(
        ACL_ERROR_INVALID_PARAM,
        std::string(function) + ": " + address +
            (around != allocations_.end() ? " lies inside an allocation that begins at " +
                                                addressText(reinterpret_cast<void*>(around->first))
                                          : " is not allocated; was it freed before?"));
  }
  const Allocation allocation = found->second;
  allocations_.erase(found);
  retireTrace(allocation.trace);
  if (allocation.exported) withdrawExportsOf(addressOf(pointer), allocation.held);
  giveBack(allocation.segment, addressOf(pointer), allocation.held, !allocation.exported);
  refund(allocation.held);
  return ACL_SUCCESS;
}

// ---- Queries -------------------------------------------------------------------------------

DeviceMemory::Allocations::iterator DeviceMemory::holding(uintptr_t address) noexcept {
  auto after = allocations_.upper_bound(address);
  if (after == allocations_.begin()) return allocations_.end();
  --after;
  return address - after->first < after->second.size ? after : allocations_.end();
}

std::optional<DeviceMemory::Range> DeviceMemory::find(const void* pointer) {
  std::lock_guard lock(mutex_);
  const auto found = holding(addressOf(pointer));
  if (found == allocations_.end()) return std::nullopt;
  return Range{found->first, found->second.size};
}

bool DeviceMemory::covers(const void* pointer, size_t size) {
  std::lock_guard lock(mutex_);
  uintptr_t address = addressOf(pointer);
  for (;;) {
    const auto found = holding(address);
    if (found == allocations_.end()) return false;
    const size_t here = found->first + found->second.size - address;
    if (size <= here) return true;
    if (found->second.physical == nullptr) return false;
    address += here;
    size -= here;
  }
}

void DeviceMemory::releaseAll() noexcept {
  std::lock_guard lock(mutex_);
  while (!allocations_.empty()) {
    const auto first = allocations_.begin();
    if (first->second.physical != nullptr) {
      unmapAllocation(first);
      continue;
    }
    if (first->second.imported != nullptr) {
      unmapImport(first);
      continue;
    }
    if (first->second.exported) withdrawExportsOf(first->first, first->second.held);
    retireTrace(first->second.trace);
    refund(first->second.held);
    allocations_.erase(first);
  }
  while (!physical_.empty()) {
    PhysicalMemory* memory = *physical_.begin();
    memory->handles = 0;
    destroyIfUnused(memory);
  }
  kept_.clear();
  kept_bytes_ = 0;
  chunks_.clear();
  while (!segments_.empty()) closeSegment(segments_.begin()->second.get());
  reservations_.clear();
  addresses_.reset();
  peak_.store(0);
}

}  // namespace softcann
