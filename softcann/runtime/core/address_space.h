// Device addresses and the mirror.
//
// Note [The mirror]: device addresses lie in one reserved range without access; the bytes behind
// address p are mapped at p + mirror distance, out of memfd segments. So host code that follows
// a device pointer faults, as with a real card, while a kernel needs one addition. The mirror is
// not inherited by fork(): a child must not reach its parent's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "acl/acl_base.h"

namespace softcann {

constexpr size_t kSegmentAlignment = size_t{2} << 20;

struct AddressSpace {
  uintptr_t begin = 0;     // first device address
  size_t size = 0;         // of all devices; the mirror has the same size
  uintptr_t distance = 0;  // from a device address to its mirror
  size_t per_device = 0;

  bool containsDeviceAddress(uintptr_t address) const noexcept { return address - begin < size; }
  bool containsMirrorAddress(uintptr_t address) const noexcept {
    return address - begin - distance < size;
  }
};

extern AddressSpace address_space;

// Reserves the range for `device_count` devices. Once per process: it stays for good, so that
// pointers kept from before aclFinalize() still fault cleanly.
aclError reserveAddressSpace(int device_count) noexcept;

// Puts `size` bytes of the memfd, from `offset`, behind the device address.
aclError mapMirror(uintptr_t device_address, size_t size, int fd, size_t offset) noexcept;
// Takes them away again; the address range stays reserved.
void unmapMirror(uintptr_t device_address, size_t size) noexcept;

// A new memfd of `size` bytes, or -1 with the error text set.
int createSegmentFile(size_t size) noexcept;
// Counts a descriptor that came by other ways as a segment's, for the two functions below.
void adoptSegmentFile(int fd) noexcept;
void closeSegmentFile(int fd) noexcept;
// Gives the whole pages in the range back to the machine.
void punchSegmentFile(int fd, size_t offset, size_t size) noexcept;

// In a forked child: lets go of the parent's segments, so that their memory can return to the
// machine when the parent ends. Async-signal-safe.
void closeSegmentFilesInChild() noexcept;

}  // namespace softcann
