// Copies and fills, checked against what is allocated before anything is touched.
#pragma once

#include <cstddef>

#include "acl/acl_rt.h"
#include "runtime/core/stream.h"

namespace softcann {

// `height` rows of `width` bytes, `*_pitch` bytes apart. A plain copy has one row.
struct Copy {
  void* dst;
  size_t dst_pitch;
  const void* src;
  size_t src_pitch;
  size_t width;
  size_t height;
  aclrtMemcpyKind kind;

  static Copy flat(void* dst, const void* src, size_t count, aclrtMemcpyKind kind) noexcept {
    return {dst, count, src, count, count, 1, kind};
  }
};

// Both ends must be what `kind` says, and lie within allocations where they are device memory.
aclError checkCopy(const char* function, Copy& copy);
// The caller has checked. Synchronous, in the calling thread.
void runCopy(const Copy& copy) noexcept;
// In stream order. Pageable host memory may be reused by the caller as soon as this returns.
aclError enqueueCopy(const Copy& copy, Stream* stream);

aclError checkFill(const char* function, void* pointer, size_t room, size_t count);
aclError enqueueFill(void* pointer, int32_t value, size_t count, Stream* stream);
// Brings the range into the processor's caches.
aclError enqueuePrefetch(void* pointer, size_t size, Stream* stream);

}  // namespace softcann
