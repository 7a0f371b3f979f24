// The allocators that programs register for streams; see acl_rt_allocator.h.
#pragma once

#include <optional>

#include "acl/acl_rt.h"
#include "runtime/core/stream.h"

namespace softcann {

struct OperatorAllocator {
  aclrtAllocatorDesc description = nullptr;  // the program's handle
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc allocate_advised = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};

void registerAllocator(const Stream* stream, const OperatorAllocator& allocator);
// False if it has none.
bool forgetAllocator(const Stream* stream) noexcept;
std::optional<OperatorAllocator> allocatorOf(const Stream* stream);

}  // namespace softcann
