// Copies within device memory whose addresses a stream reads from device memory when it gets there,
// so that earlier tasks of the stream can write them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/stream.h"

namespace softcann {

// What a copy's descriptor holds in device memory.
struct CopyDescriptor {
  static constexpr uint64_t kMagic = 0x6370797064736331;
  uint64_t magic;
  void* dst;
  const void* src;
  uint64_t count;
};

// All addresses of device memory, which the caller has not checked.
aclError writeCopyDescriptor(void* descriptor, void* dst, const void* src, size_t count);
aclError enqueueDescribedCopy(void* descriptor, Stream* stream);
// From *src + src_offset to *dst + dst_offset; `room` counts from *dst.
struct OffsetCopy {
  void** dst;
  size_t room;
  size_t dst_offset;
  const void** src;
  size_t src_offset;
  size_t count;
};
aclError enqueueOffsetCopy(const OffsetCopy& copy, Stream* stream);

}  // namespace softcann
