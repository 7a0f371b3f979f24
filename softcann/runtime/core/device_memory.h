// The memory of one device: what is allocated, mapped and reserved in its part of the address
// space. Thread-safe.
//
// Note [Segments]: bytes live in segments, each a memfd of its own at a fixed place in the
// mirror, so that sharing one with another process shares nothing else. Small allocations share
// chunk segments; a larger one has a segment to itself. A freed segment is kept mapped while the
// kept ones are few (its pages are then reused without page faults), else its memory goes back
// to the machine at once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "runtime/core/allocation_trace.h"
#include "runtime/core/range_allocator.h"

namespace softcann {

// Memory without an address, of aclrtMallocPhysical(). Lives until it was freed and no mapping
// uses it.
struct PhysicalMemory {
  int fd = -1;
  size_t size = 0;
  int mappings = 0;
  int handles = 1;  // how often it may still be freed; it lives on while it is mapped
  aclrtPhysicalMemProp properties = {};  // as asked for
};

// Memory of another process, of aclrtIpcMemImportByKey(). Lives until it was closed as often as it
// was imported.
struct ImportedMemory {
  std::string key;
  int fd = -1;
  size_t offset = 0;    // in the file, of the first byte imported
  uintptr_t begin = 0;  // of the address range, a little before that byte
  size_t reserved = 0;  // length of the address range
  size_t mapped = 0;
  int uses = 0;
};

class DeviceMemory {
 public:
  explicit DeviceMemory(int device) noexcept : device_(device) {}

  // The device that an address belongs to, or nullptr for host addresses.
  static DeviceMemory* of(const void* pointer) noexcept;
  int device() const noexcept { return device_; }

  // `padding` extra bytes are allocated behind `size`. `function` and `caller` are for the fault
  // report.
  aclError allocate(size_t size, size_t padding, const char* function, const void* caller,
                    void** pointer);
  aclError free(void* pointer, const char* function);

  aclError reserve(size_t size, size_t alignment, void** pointer);
  aclError release(void* pointer);
  aclError createPhysical(size_t size, PhysicalMemory** memory);
  aclError freePhysical(PhysicalMemory* memory);
  bool owns(PhysicalMemory* memory);
  // The memory that is mapped at the address, for one more freePhysical(); null for none.
  PhysicalMemory* retainPhysical(const void* pointer);
  aclError map(void* pointer, size_t size, size_t offset, PhysicalMemory* memory,
               const void* caller);
  aclError unmap(void* pointer);

  // Lets other processes of the user import [pointer, pointer + size): any of them, or only those
  // of admitProcesses().
  aclError exportRange(const char* function, const void* pointer, size_t size, bool admits_all,
                       std::string* key);
  aclError importByKey(const std::string& key, const void* caller, void** pointer);
  // Undoes one import of the key; false if there is none.
  bool closeImport(const std::string& key) noexcept;

  struct Range {
    uintptr_t begin;
    size_t size;
  };
  // The allocation that holds the address.
  std::optional<Range> find(const void* pointer);
  // Whether all `size` bytes are allocated: in one allocation, or in mappings side by side.
  bool covers(const void* pointer, size_t size);

  size_t capacity() const noexcept;
  // By this process.
  size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  // Of the capacity, after what all processes of the user have taken of the device.
  size_t available() const noexcept;
  size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  // Frees everything, for the reset of the device.
  void releaseAll() noexcept;

 private:
  struct Segment {
    uintptr_t begin;
    size_t size;
    int fd;
    std::unique_ptr<RangeAllocator> chunk;  // of a chunk segment
    size_t live = 0;                        // bytes in use
  };
  struct Allocation {
    size_t size;       // as asked for
    size_t held;       // with padding
    Segment* segment;  // nullptr: a mapping of physical memory
    PhysicalMemory* physical;
    AllocationTrace* trace;
    ImportedMemory* imported = nullptr;
    bool exported = false;
  };
  using Allocations = std::map<uintptr_t, Allocation>;

  RangeAllocator& addresses();
  aclError charge(size_t size);
  void refund(size_t size) noexcept;
  Segment* openSegment(size_t size);
  void closeSegment(Segment* segment) noexcept;
  aclError allocateSmall(size_t held, Segment** segment, uintptr_t* begin);
  aclError allocateLarge(size_t held, Segment** segment, uintptr_t* begin);
  // `reusable`: by this process. What another process may still use is not.
  void giveBack(Segment* segment, uintptr_t begin, size_t held, bool reusable) noexcept;
  aclError mapImport(ImportedMemory& memory, size_t size, const void* caller, void** pointer);
  ImportedMemory* findImport(const std::string& key) noexcept;
  void unmapImport(Allocations::iterator allocation) noexcept;
  size_t dropKept() noexcept;
  void unmapAllocation(Allocations::iterator mapping) noexcept;
  void destroyIfUnused(PhysicalMemory* memory) noexcept;
  Allocations::iterator holding(uintptr_t address) noexcept;

  const int device_;
  std::atomic<size_t> used_{0};
  std::atomic<size_t> peak_{0};

  std::mutex mutex_;
  std::unique_ptr<RangeAllocator> addresses_;
  std::map<uintptr_t, std::unique_ptr<Segment>> segments_;
  std::vector<Segment*> chunks_;
  std::vector<Segment*> kept_;
  size_t kept_bytes_ = 0;
  Allocations allocations_;
  std::map<uintptr_t, size_t> reservations_;
  std::set<PhysicalMemory*> physical_;
  std::vector<std::unique_ptr<ImportedMemory>> imports_;
};

}  // namespace softcann
