// Copying bytes in a stream's order, visible to the profiler.
#pragma once

#include <cstddef>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

// Returns before the copy is done. The memory must stay valid until then; pageable host memory may
// be read or written before the call returns.
C10_EXPORT void memcpyAsync(void* destination, const void* source, size_t bytes,
                            aclrtMemcpyKind kind, const NPUStream& stream);

// The same, and waits for the stream. Where torch.npu.set_sync_debug_mode() makes waiting an error,
// nothing is enqueued.
C10_EXPORT void memcpyAndSync(void* destination, const void* source, size_t bytes,
                              aclrtMemcpyKind kind, const NPUStream& stream);

}  // namespace torch_npu
