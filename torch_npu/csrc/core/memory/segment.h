// Device memory as the caching allocator gets it from CANN: the one file that calls CANN's device
// memory functions for it.
//
// A fixed segment is one aclrtMalloc. An expandable segment is a reserved range of addresses, as
// large as the device's memory, in which granules are backed with physical memory one by one; it
// grows in place, so that a growing tensor does not leave segments of every size behind it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include "acl/acl_rt.h"

namespace torch_npu {

struct Block;
struct BlockPool;
class PluggableAllocator;

class Segment {
 public:
  // Null if the device has no memory left; throws for any other failure.
  static std::unique_ptr<Segment> allocate(c10::DeviceIndex device, size_t size);

  // The same from an allocator of the user's, which gets the memory back in the end, whatever
  // becomes of the pool. Null if it gives none. Not to be called, nor the segment destroyed, with
  // the lock of a caching allocator held.
  static std::unique_ptr<Segment> allocateFrom(std::shared_ptr<PluggableAllocator> source,
                                               c10::DeviceIndex device, size_t size,
                                               c10::StreamId stream);

  // Reserves addresses for at least `capacity` bytes, none of them backed.
  static std::unique_ptr<Segment> reserve(c10::DeviceIndex device, size_t capacity, size_t granule);

  // Whether the bound CANN has the virtual memory functions.
  static bool expandableSupported();

  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  // Backs [offset, offset + size), both multiples of the granule, none of it backed before. False,
  // with nothing changed, if the device has no memory left.
  bool map(size_t offset, size_t size);
  // Takes the memory behind [offset, offset + size) away again.
  void unmap(size_t offset, size_t size) noexcept;

  // The key by which other processes can import the segment, made at the first call. Throws for an
  // expandable segment, which is not one allocation of the device.
  const std::string& exportKey();
  // The same for any allocation of this process; the runtime drops it with the allocation.
  static std::string exportKeyOf(void* base, size_t size);
  // Where the segment with that key is; null if it is not a segment of this process.
  static char* baseOfExport(const std::string& key);

  // Whether the memory is from an allocator of the user's.
  bool foreign() const noexcept { return source_ != nullptr; }
  bool expandable() const noexcept { return granule_ != 0; }
  char* base() const noexcept { return base_; }
  size_t size() const noexcept { return size_; }
  size_t granule() const noexcept { return granule_; }
  size_t mappedBytes() const noexcept { return mapped_bytes_; }
  size_t offsetOf(const void* address) const noexcept {
    return static_cast<size_t>(static_cast<const char*>(address) - base_);
  }

  // The leftmost block; the others follow along Block::next.
  Block* first_block = nullptr;
  BlockPool* pool = nullptr;
  c10::StreamId stream = 0;

 private:
  Segment(c10::DeviceIndex device, void* base, size_t size, size_t granule);

  c10::DeviceIndex device_;
  char* base_;
  size_t size_;
  size_t granule_;
  size_t mapped_bytes_ = 0;
  // One per granule; null where there is no memory behind it.
  std::vector<aclrtDrvMemHandle> handles_;
  std::string export_key_;
  std::shared_ptr<PluggableAllocator> source_;
};

// Free and total bytes of a device, whoever uses them.
struct DeviceMemory {
  size_t free = 0;
  size_t total = 0;
};
DeviceMemory queryDeviceMemory(c10::DeviceIndex device);

}  // namespace torch_npu
