// The allocator of pinned host memory, which the device can copy from and to asynchronously.
//
// PyTorch's CachingHostAllocator does the caching; memory comes from aclrtMallocHost. A block that
// a copy on some stream uses (record_event) is reused only when that stream has got past it.
#pragma once

#include <ATen/core/CachingHostAllocator.h>

namespace torch_npu {

// The one instance; never destroyed. at::getHostAllocator(PrivateUse1) gives the same one.
C10_EXPORT at::HostAllocator* cachingHostAllocator();

}  // namespace torch_npu
