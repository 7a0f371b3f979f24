// Copies whose addresses lie in device memory, and fills of four bytes at a time.
#include "runtime/core/indirect_copy.h"

#include <algorithm>

#include "runtime/api/checks.h"
#include "runtime/core/copy.h"

using namespace softcann;

namespace {

aclError checkWithinDevice(const char* function, aclrtMemcpyKind kind, bool any_device) {
  if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
  if (any_device && kind == ACL_MEMCPY_DEVICE_TO_DEVICE) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              std::string(function) +
                  ": only copies within device memory (ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) are "
                  "supported; use aclrtMemcpyAsync()");
}

struct PatternTask {
  uint32_t* pointer;  // in the mirror
  size_t count;
  uint32_t value;
};

aclError runPattern(void* payload) noexcept {
  const auto* task = static_cast<PatternTask*>(payload);
  std::fill_n(task->pointer, task->count, task->value);
  return ACL_SUCCESS;
}
void releasePattern(void* payload) noexcept { delete static_cast<PatternTask*>(payload); }
constexpr TaskType kPatternTask = {"aclrtMemsetD32Async", runPattern, releasePattern};

aclError checkPattern(const char* function, void* pointer, size_t room, size_t count) {
  if (count > SIZE_MAX / sizeof(uint32_t)) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": there is no room for " +
                                             std::to_string(count) + " elements of four bytes");
  }
  if (reinterpret_cast<uintptr_t>(pointer) % sizeof(uint32_t) != 0) {
    return fail(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED,
                std::string(function) + ": the pointer is not aligned to 4 bytes");
  }
  return checkFill(function, pointer, room, count * sizeof(uint32_t));
}

}  // namespace

extern "C" {

aclError aclrtMemcpyAsyncWithOffset(void** dst, size_t destMax, size_t dstDataOffset,
                                    const void** src, size_t count, size_t srcDataOffset,
                                    aclrtMemcpyKind kind, aclrtStream handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkWithinDevice("aclrtMemcpyAsyncWithOffset", kind, /*any_device=*/false));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return enqueueOffsetCopy({dst, destMax, dstDataOffset, src, srcDataOffset, count}, stream);
  });
}

aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* descSize) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetMemcpyDescSize", "descSize", descSize));
    SOFTCANN_TRY(checkWithinDevice("aclrtGetMemcpyDescSize", kind, /*any_device=*/true));
    *descSize = sizeof(CopyDescriptor);
    return ACL_SUCCESS;
  });
}

aclError aclrtSetMemcpyDesc(void* desc, aclrtMemcpyKind kind, void* srcAddr, void* dstAddr,
                            size_t count, void* config) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkWithinDevice("aclrtSetMemcpyDesc", kind, /*any_device=*/true));
    if (config != nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtSetMemcpyDesc: config must be null");
    }
    return writeCopyDescriptor(desc, dstAddr, srcAddr, count);
  });
}

aclError aclrtMemcpyAsyncWithDesc(void* desc, aclrtMemcpyKind kind, aclrtStream handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkWithinDevice("aclrtMemcpyAsyncWithDesc", kind, /*any_device=*/true));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return enqueueDescribedCopy(desc, stream);
  });
}

aclError aclrtMemsetD32(void* ptr, size_t memSize, uint32_t value, size_t N) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkPattern("aclrtMemsetD32", ptr, memSize, N));
    if (N > 0) std::fill_n(static_cast<uint32_t*>(hostView(ptr)), N, value);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemsetD32Async(void* ptr, size_t memSize, uint32_t value, size_t N,
                             aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    SOFTCANN_TRY(checkPattern("aclrtMemsetD32Async", ptr, memSize, N));
    if (N == 0) return ACL_SUCCESS;
    return stream->enqueue(&kPatternTask,
                           new PatternTask{static_cast<uint32_t*>(hostView(ptr)), N, value});
  });
}

}  // extern "C"
