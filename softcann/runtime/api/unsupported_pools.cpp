// Pools of memory in the order of streams.
#include "acl/acl_rt_memory_soma.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

namespace {

constexpr const char* kNoPools =
    ": use aclrtMalloc(), and aclrtFree() when the stream has run its tasks";

}  // namespace

extern "C" {

SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolCreate, (aclrtMemPool*, const aclrtMemPoolProps*),
                             kNoPools)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolDestroy, (const aclrtMemPool), kNoPools)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolMallocAsync, (void**, size_t, aclrtMemPool, aclrtStream),
                             kNoPools)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolFreeAsync, (void*, aclrtStream), kNoPools)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolGetAttr, (aclrtMemPool, aclrtMemPoolAttr, void*), kNoPools)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolSetAttr, (aclrtMemPool, aclrtMemPoolAttr, void*), kNoPools)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemPoolTrimTo, (aclrtMemPool, size_t), kNoPools)

}  // extern "C"
