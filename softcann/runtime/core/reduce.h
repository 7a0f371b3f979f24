// Reductions of device memory into device memory, as a card's copy engine does them.
#pragma once

#include "acl/acl_rt.h"
#include "runtime/core/stream.h"

namespace softcann {

// dst[i] = dst[i] <op> src[i], in stream order; `bytes` of each.
aclError enqueueReduction(void* dst, const void* src, size_t bytes, aclrtReduceKind kind,
                          aclDataType type, Stream* stream);

}  // namespace softcann
