// 64-bit values in device memory that streams write and await.
#pragma once

#include <cstdint>

#include "runtime/core/stream.h"

namespace softcann {

aclError writeValue(void* address, uint64_t value, Stream* stream);
// `condition`: ACL_STREAM_WAIT_VALUE_*.
aclError waitValue(void* address, uint64_t value, uint32_t condition, Stream* stream);

}  // namespace softcann
