#include "runtime/core/address_space.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>

#include "runtime/core/platform.h"
#include "runtime/core/task.h"

namespace softcann {

AddressSpace address_space;

namespace {

// One bit per descriptor number; cleared before a descriptor is closed, so that a child forked
// at any moment never closes a number that was used again.
constexpr int kMostDescriptors = 1 << 20;
std::atomic<uint64_t> segment_files[kMostDescriptors / 64];

constexpr size_t kHolePageSize = 4096;
constexpr size_t kLeastHole = size_t{128} << 10;
constexpr size_t kLeastDefaultAddressSpace = size_t{64} << 30;

// Soft limits on descriptors are often 1024, less than the segments of a full device.
bool raiseDescriptorLimit() noexcept {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return false;
  limit.rlim_cur = limit.rlim_max;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

void* reserve(size_t size) noexcept {
  void* range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return range == MAP_FAILED ? nullptr : range;
}

}  // namespace

aclError reserveAddressSpace(int device_count) noexcept {
  if (address_space.begin != 0 || device_count == 0) return ACL_SUCCESS;
  size_t size = platform()->address_space;
  void* range = reserve(2 * size + kSegmentAlignment);
  while (range == nullptr && platform()->address_space_is_default &&
         size > kLeastDefaultAddressSpace) {
    size /= 2;
    range = reserve(2 * size + kSegmentAlignment);
  }
  if (range == nullptr) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                "cannot reserve 2 x " + std::to_string(size) +
                    " bytes of addresses: " + std::strerror(errno) +
                    " (is there a limit on virtual memory, ulimit -v? SOFTCANN_ADDRESS_SPACE "
                    "sets the size of the range)");
  }
  const uintptr_t raw = reinterpret_cast<uintptr_t>(range);
  const uintptr_t begin = (raw + kSegmentAlignment - 1) & ~(kSegmentAlignment - 1);
  address_space.per_device = size / static_cast<size_t>(device_count) & ~(kSegmentAlignment - 1);
  address_space.distance = size;
  address_space.size = size;
  address_space.begin = begin;
  madvise(reinterpret_cast<void*>(begin + size), size, MADV_DONTFORK);
  return ACL_SUCCESS;
}

aclError mapMirror(uintptr_t device_address, size_t size, int fd, size_t offset) noexcept {
  void* mirror = reinterpret_cast<void*>(device_address + address_space.distance);
  if (mmap(mirror, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    const int error = errno;
    unmapMirror(device_address, size);
    return fail(
        ACL_ERROR_RT_MEMORY_ALLOCATION,
        "cannot map " + std::to_string(size) + " bytes of device memory: " + std::strerror(error));
  }
  madvise(mirror, size, MADV_DONTFORK);
  madvise(mirror, size, MADV_HUGEPAGE);
  return ACL_SUCCESS;
}

void unmapMirror(uintptr_t device_address, size_t size) noexcept {
  void* mirror = reinterpret_cast<void*>(device_address + address_space.distance);
  // Where the kernel has no mapping left, the old one stays until the range is used again.
  (void)mmap(mirror, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
             0);
  madvise(mirror, size, MADV_DONTFORK);
}

int createSegmentFile(size_t size) noexcept {
  int fd = memfd_create("softcann", MFD_CLOEXEC);
  if (fd < 0 && errno == EMFILE && raiseDescriptorLimit()) {
    fd = memfd_create("softcann", MFD_CLOEXEC);
  }
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(size)) != 0) {
    const int error = errno;
    if (fd >= 0) close(fd);
    fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "cannot create a segment of " + std::to_string(size) +
                                             " bytes of device memory: " + std::strerror(error));
    return -1;
  }
  adoptSegmentFile(fd);
  return fd;
}

void adoptSegmentFile(int fd) noexcept {
  if (fd < kMostDescriptors) segment_files[fd / 64].fetch_or(uint64_t{1} << (fd % 64));
}

void closeSegmentFile(int fd) noexcept {
  if (fd < kMostDescriptors) segment_files[fd / 64].fetch_and(~(uint64_t{1} << (fd % 64)));
  close(fd);
}

void punchSegmentFile(int fd, size_t offset, size_t size) noexcept {
  const size_t begin = (offset + kHolePageSize - 1) & ~(kHolePageSize - 1);
  const size_t end = (offset + size) & ~(kHolePageSize - 1);
  if (end < begin + kLeastHole) return;
  fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
            static_cast<off_t>(end - begin));
}

void closeSegmentFilesInChild() noexcept {
  for (int word = 0; word < kMostDescriptors / 64; ++word) {
    uint64_t bits = segment_files[word].exchange(0);
    while (bits != 0) {
      close(word * 64 + __builtin_ctzll(bits));
      bits &= bits - 1;
    }
  }
}

void* hostView(const void* pointer) noexcept {
  const uintptr_t address = reinterpret_cast<uintptr_t>(pointer);
  return reinterpret_cast<void*>(
      address_space.containsDeviceAddress(address) ? address + address_space.distance : address);
}

}  // namespace softcann

extern "C" SOFTCANN_EXPORT void* softcannHostView(const void* device_pointer) {
  return softcann::hostView(device_pointer);
}
