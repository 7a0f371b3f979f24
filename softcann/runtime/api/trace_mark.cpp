// Marks and ranges for the profiler.
#include "runtime/core/trace_mark.h"

#include <new>

#include "acl/acl_prof.h"
#include "runtime/api/checks.h"

using namespace softcann;

namespace {

// Runs body(stamp) if somebody takes marks.
template <class Body>
aclError withStamp(const char* function, void* handle, Body&& body) noexcept {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "stamp", handle));
    SOFTCANN_TRY(requireTrace(function));
    return body(*static_cast<const Stamp*>(handle));
  });
}

aclError checkMessage(const char* function, const char* text, size_t size) {
  SOFTCANN_TRY(requireNotNull(function, "msg", text));
  if (size != 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the length of msg is 0");
}

}  // namespace

extern "C" {

void* aclprofCreateStamp(void) {
  auto* stamp = new (std::nothrow) Stamp;
  if (stamp == nullptr) fail(ACL_ERROR_BAD_ALLOC, "aclprofCreateStamp: the host is out of memory");
  return stamp;
}

void aclprofDestroyStamp(void* stamp) { delete static_cast<Stamp*>(stamp); }

aclError aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclprofSetStampTraceMessage", "stamp", stamp));
    SOFTCANN_TRY(checkMessage("aclprofSetStampTraceMessage", msg, msgLen));
    static_cast<Stamp*>(stamp)->setMessage(msg, msgLen);
    return ACL_SUCCESS;
  });
}

aclError aclprofMark(void* stamp) { return withStamp("aclprofMark", stamp, markNow); }

aclError aclprofPush(void* stamp) { return withStamp("aclprofPush", stamp, pushRange); }

aclError aclprofPop(void) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireTrace("aclprofPop"));
    return popRange();
  });
}

aclError aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  return withStamp("aclprofRangeStart", stamp, [&](const Stamp& text) -> aclError {
    SOFTCANN_TRY(requireNotNull("aclprofRangeStart", "rangeId", rangeId));
    return startRange(text, rangeId);
  });
}

aclError aclprofRangeStop(uint32_t rangeId) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireTrace("aclprofRangeStop"));
    return stopRange(rangeId);
  });
}

aclError aclprofMarkEx(const char* msg, size_t msgLen, aclrtStream handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(checkMessage("aclprofMarkEx", msg, msgLen));
    SOFTCANN_TRY(requireTrace("aclprofMarkEx"));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    Stamp stamp;
    stamp.setMessage(msg, msgLen);
    return markInStream(stamp, stream);
  });
}

}  // extern "C"
