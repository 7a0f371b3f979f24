// Copies and fills.
#include "runtime/core/copy.h"

#include <cstdint>
#include <cstring>
#include <vector>

#include "runtime/api/checks.h"
#include "runtime/core/reduce.h"

using namespace softcann;

namespace {

aclError checkRoom(const char* function, size_t room, size_t count) {
  if (count <= room) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + std::to_string(count) +
                                           " bytes do not fit into destMax, " +
                                           std::to_string(room));
}

aclError checkPitch(const char* function, const Copy& copy) {
  if (copy.width <= copy.dst_pitch && copy.width <= copy.src_pitch) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": rows of " +
                                           std::to_string(copy.width) +
                                           " bytes are wider than a pitch");
}

// As on a card, a synchronous copy does not wait for streams.
aclError copyNow(const char* function, Copy copy) {
  SOFTCANN_TRY(checkCopy(function, copy));
  runCopy(copy);
  return ACL_SUCCESS;
}

aclError copyInStream(const char* function, Copy copy, aclrtStream handle) {
  Stream* stream = nullptr;
  SOFTCANN_TRY(resolveStream(handle, stream));
  SOFTCANN_TRY(checkCopy(function, copy));
  return enqueueCopy(copy, stream);
}

struct Batch {
  void** dsts;
  size_t* dst_rooms;
  void** srcs;
  size_t* sizes;
  size_t count;
  size_t* fail_index;
};

// Checks all copies before the first one runs; then `run` does one.
template <class Run>
aclError copyBatch(const char* function, const Batch& batch, Run&& run) {
  if (batch.fail_index != nullptr) *batch.fail_index = SIZE_MAX;
  SOFTCANN_TRY(requireNotNull(function, "dsts", batch.dsts));
  SOFTCANN_TRY(requireNotNull(function, "destMaxs", batch.dst_rooms));
  SOFTCANN_TRY(requireNotNull(function, "srcs", batch.srcs));
  SOFTCANN_TRY(requireNotNull(function, "sizes", batch.sizes));
  std::vector<Copy> copies;
  for (size_t i = 0; i < batch.count; ++i) {
    copies.push_back(Copy::flat(batch.dsts[i], batch.srcs[i], batch.sizes[i], ACL_MEMCPY_DEFAULT));
    aclError code = checkRoom(function, batch.dst_rooms[i], batch.sizes[i]);
    if (code == ACL_SUCCESS) code = checkCopy(function, copies.back());
    if (code == ACL_SUCCESS) continue;
    if (batch.fail_index != nullptr) *batch.fail_index = i;
    return code;
  }
  for (const Copy& copy : copies) SOFTCANN_TRY(run(copy));
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkRoom("aclrtMemcpy", destMax, count));
    return copyNow("aclrtMemcpy", Copy::flat(dst, src, count, kind));
  });
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkRoom("aclrtMemcpyAsync", destMax, count));
    return copyInStream("aclrtMemcpyAsync", Copy::flat(dst, src, count, kind), stream);
  });
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
  return aclrtMemcpyAsync(dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  return entry([&]() -> aclError {
    const Copy copy{dst, dpitch, src, spitch, width, height, kind};
    SOFTCANN_TRY(checkPitch("aclrtMemcpy2d", copy));
    return copyNow("aclrtMemcpy2d", copy);
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return entry([&]() -> aclError {
    const Copy copy{dst, dpitch, src, spitch, width, height, kind};
    SOFTCANN_TRY(checkPitch("aclrtMemcpy2dAsync", copy));
    return copyInStream("aclrtMemcpy2dAsync", copy, stream);
  });
}

aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                          size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                          size_t numAttrs, size_t* failIndex) {
  (void)attrs, (void)attrsIndexes, (void)numAttrs;  // where memory is, its address tells
  return entry([&] {
    return copyBatch("aclrtMemcpyBatch", {dsts, destMaxs, srcs, sizes, numBatches, failIndex},
                     [](const Copy& copy) {
                       runCopy(copy);
                       return ACL_SUCCESS;
                     });
  });
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                               size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                               size_t numAttrs, size_t* failIndex, aclrtStream handle) {
  (void)attrs, (void)attrsIndexes, (void)numAttrs;
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return copyBatch("aclrtMemcpyBatchAsync", {dsts, destMaxs, srcs, sizes, numBatches, failIndex},
                     [&](const Copy& copy) { return enqueueCopy(copy, stream); });
  });
}

aclError aclrtMemcpyBatchV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                            size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                            size_t numAttrs) {
  (void)attrs, (void)attrsIndexes, (void)numAttrs;
  return entry([&] {
    return copyBatch("aclrtMemcpyBatchV2", {dsts, destMaxs, srcs, sizes, numBatches, nullptr},
                     [](const Copy& copy) {
                       runCopy(copy);
                       return ACL_SUCCESS;
                     });
  });
}

aclError aclrtMemcpyBatchAsyncV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                 size_t numBatches, aclrtMemcpyBatchAttr* attrs,
                                 size_t* attrsIndexes, size_t numAttrs, aclrtStream handle) {
  (void)attrs, (void)attrsIndexes, (void)numAttrs;
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return copyBatch("aclrtMemcpyBatchAsyncV2", {dsts, destMaxs, srcs, sizes, numBatches, nullptr},
                     [&](const Copy& copy) { return enqueueCopy(copy, stream); });
  });
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkFill("aclrtMemset", devPtr, maxCount, count));
    if (count > 0) std::memset(hostView(devPtr), value, count);
    return ACL_SUCCESS;
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    SOFTCANN_TRY(checkFill("aclrtMemsetAsync", devPtr, maxCount, count));
    return enqueueFill(devPtr, value, count, stream);
  });
}

aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    if (cmoType != ACL_RT_CMO_TYPE_PREFETCH) {
      return fail(ACL_ERROR_API_NOT_SUPPORT,
                  "aclrtCmoAsync: only ACL_RT_CMO_TYPE_PREFETCH is supported; memory is coherent, "
                  "so that no cache needs to be written back or invalidated");
    }
    SOFTCANN_TRY(checkFill("aclrtCmoAsync", src, size, size));
    return enqueuePrefetch(src, size, stream);
  });
}

aclError aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind,
                          aclDataType type, aclrtStream handle, void* reserve) {
  return entry([&]() -> aclError {
    if (reserve != nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtReduceAsync: reserve is reserved and must be null");
    }
    SOFTCANN_TRY(requireNotNull("aclrtReduceAsync", "dst", dst));
    SOFTCANN_TRY(requireNotNull("aclrtReduceAsync", "src", src));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return enqueueReduction(dst, src, count, kind, type, stream);
  });
}

}  // extern "C"
