// Functions of CANN's profiler and of dumps by the device.
#include "acl/acl_dump.h"
#include "acl/acl_prof.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

namespace {

constexpr const char* kNoProfiler =
    ": there are no hardware counters to read; profile the host's threads, or set SOFTCANN_TRACE "
    "for "
    "the times of tasks";
constexpr const char* kNoDump = ": there are no device dumps; copy the tensors to the host";

}  // namespace

#define SOFTCANN_UNSUPPORTED_PROFILER(name, parameters, instead) \
  aclError name parameters { return refuse(ACL_ERROR_PROF_MODULES_UNSUPPORTED, #name, instead); }

// No public header declares these: programs look them up by name. They look at none of their
// arguments, so that they take none, which C's calling convention allows.
#define SOFTCANN_UNDECLARED(name, instead)                             \
  SOFTCANN_EXPORT aclError name() {                                    \
    return refuse(ACL_ERROR_PROF_MODULES_UNSUPPORTED, #name, instead); \
  }

extern "C" {

SOFTCANN_UNSUPPORTED_PROFILER(aclprofInit, (const char*, size_t), kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofFinalize, (void), kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofCreateConfig,
                           (uint32_t*, uint32_t, aclprofAicoreMetrics, const aclprofAicoreEvents*,
                            uint64_t),
                           aclprofConfig*, nullptr, kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofDestroyConfig, (const aclprofConfig*), kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofSetConfig, (aclprofConfigType, const char*, size_t),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofStart, (const aclprofConfig*), kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofStop, (const aclprofConfig*), kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofModelSubscribe, (uint32_t, const aclprofSubscribeConfig*),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofModelUnSubscribe, (uint32_t), kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofCreateSubscribeConfig, (int8_t, aclprofAicoreMetrics, void*),
                           aclprofSubscribeConfig*, nullptr, kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofDestroySubscribeConfig, (const aclprofSubscribeConfig*),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetOpDescSize, (size_t*), kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetOpNum, (const void*, size_t, uint32_t*), kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetOpTypeLen, (const void*, size_t, uint32_t, size_t*),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetOpType, (const void*, size_t, uint32_t, char*, size_t),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetOpNameLen, (const void*, size_t, uint32_t, size_t*),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetOpName, (const void*, size_t, uint32_t, char*, size_t),
                              kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofGetOpStart, (const void*, size_t, uint32_t), uint64_t, 0,
                           kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofGetOpEnd, (const void*, size_t, uint32_t), uint64_t, 0,
                           kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofGetOpDuration, (const void*, size_t, uint32_t), uint64_t, 0,
                           kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofGetModelId, (const void*, size_t, uint32_t), size_t, 0,
                           kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofGetOpFlag, (const void*, size_t, uint32_t),
                           aclprofSubscribeOpFlag, ACL_SUBSCRIBE_NONE, kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofGetOpAttriValue,
                           (const void*, size_t, uint32_t, aclprofSubscribeOpAttri), const char*,
                           nullptr, kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofCreateStepInfo, (void), aclprofStepInfo*, nullptr, kNoProfiler)
SOFTCANN_UNSUPPORTED_PROFILER(aclprofGetStepTimestamp,
                              (aclprofStepInfo*, aclprofStepTag, aclrtStream), kNoProfiler)
SOFTCANN_UNSUPPORTED_VALUE(aclprofStr2Id, (const char*), uint64_t, 0,
                           ": use aclprofPush() and aclprofPop()")
SOFTCANN_UNSUPPORTED_PROFILER(aclprofRangePushEx, (aclprofEventAttributes*),
                              ": use aclprofPush() and aclprofPop()")
SOFTCANN_UNSUPPORTED_PROFILER(aclprofRangePop, (void), ": use aclprofPush() and aclprofPop()")
SOFTCANN_UNSUPPORTED_VOID(aclprofDestroyStepInfo, (aclprofStepInfo*), kNoProfiler)

SOFTCANN_UNDECLARED(aclprofWarmup, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofGetSupportedFeatures, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofGetSupportedFeaturesV2, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofRegisterDeviceCallback, kNoProfiler)

SOFTCANN_UNSUPPORTED(aclmdlInitDump, (void), kNoDump)
SOFTCANN_UNSUPPORTED(aclmdlSetDump, (const char*), kNoDump)
SOFTCANN_UNSUPPORTED(aclmdlFinalizeDump, (void), kNoDump)

}  // extern "C"
