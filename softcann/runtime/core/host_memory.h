// Host memory that devices know: allocated by aclrtMallocHost() or registered.
#pragma once

#include <cstddef>

#include "acl/acl_rt.h"

namespace softcann {

aclError allocateHost(size_t size, void** pointer);
aclError freeHost(void* pointer, const char* function);
aclError registerHost(void* pointer, size_t size);
aclError unregisterHost(void* pointer);
// Whether the whole range is known.
bool isPinned(const void* pointer, size_t size);
// The known range that holds the address.
bool findPinned(const void* pointer, void** begin, size_t* size);
// Frees what was allocated, for aclFinalize().
void freeAllHost() noexcept;

}  // namespace softcann
