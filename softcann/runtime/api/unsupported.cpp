// Functions of the public interface that softcann does not implement. Each says so; none pretends
// to have worked.
#include <string>

#include "runtime/core/task.h"

using namespace softcann;

namespace {

aclError notSupported(const char* function, const char* instead) noexcept {
  return fail(ACL_ERROR_API_NOT_SUPPORT,
              std::string(function) + " is not supported by softcann" + instead);
}

constexpr const char* kNoBinaries = ": device binaries cannot run here; use the aclnn operators";
constexpr const char* kNoSharing = ": share memory of aclrtMalloc() with aclrtIpcMemGetExportKey()";
constexpr const char* kNoCapture = ": graphs cannot be captured yet; run the tasks in a stream";
constexpr const char* kNoProfiler =
    ": there are no hardware counters to read; profile the host's threads";
constexpr const char* kNoDump = ": there are no device dumps; copy the tensors to the host";

}  // namespace

// name, parameter types, what to say
#define SOFTCANN_UNSUPPORTED(name, parameters, instead) \
  aclError name parameters { return notSupported(#name, instead); }

// Without parameter types, which C's calling convention does not need.
#define SOFTCANN_UNDECLARED(name, instead)                              \
  SOFTCANN_EXPORT aclError name() {                                     \
    fail(ACL_ERROR_PROF_MODULES_UNSUPPORTED,                            \
         std::string(#name " is not supported by softcann") + instead); \
    return ACL_ERROR_PROF_MODULES_UNSUPPORTED;                          \
  }
#define SOFTCANN_UNDECLARED_OBJECT(name, instead) \
  SOFTCANN_EXPORT void* name() {                  \
    notSupported(#name, instead);                 \
    return nullptr;                               \
  }

extern "C" {

SOFTCANN_UNSUPPORTED(aclrtGetDeviceUtilizationRate, (int32_t, aclrtUtilizationInfo*),
                     ": a core's load is the host's; use aclrtGetMemInfo() for memory")
SOFTCANN_UNSUPPORTED(aclrtMemFlush, (void*, size_t), ": memory is coherent; leave the call out")
SOFTCANN_UNSUPPORTED(aclrtMemInvalidate, (void*, size_t),
                     ": memory is coherent; leave the call out")

SOFTCANN_UNSUPPORTED(aclrtMemExportToShareableHandle,
                     (aclrtDrvMemHandle, aclrtMemHandleType, uint64_t, uint64_t*), kNoSharing)
SOFTCANN_UNSUPPORTED(aclrtMemImportFromShareableHandle, (uint64_t, int32_t, aclrtDrvMemHandle*),
                     kNoSharing)
SOFTCANN_UNSUPPORTED(aclrtMemSetPidToShareableHandle, (uint64_t, int32_t*, size_t), kNoSharing)

SOFTCANN_UNSUPPORTED(aclrtBinaryLoadFromData,
                     (const void*, size_t, const aclrtBinaryLoadOptions*, aclrtBinHandle*),
                     kNoBinaries)
SOFTCANN_UNSUPPORTED(aclrtBinaryGetFunction, (aclrtBinHandle, const char*, aclrtFuncHandle*),
                     kNoBinaries)
SOFTCANN_UNSUPPORTED(aclrtGetFunctionAddr, (aclrtFuncHandle, void**, void**), kNoBinaries)

SOFTCANN_UNSUPPORTED(aclmdlRICaptureBegin, (aclrtStream, aclmdlRICaptureMode), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureEnd, (aclrtStream, aclmdlRI*), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureToModelRIBegin, (aclrtStream, aclmdlRI, aclmdlRICaptureMode),
                     kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureThreadExchangeMode, (aclmdlRICaptureMode*), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureTaskGrpBegin, (aclrtStream), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureTaskGrpEnd, (aclrtStream, aclrtTaskGrp*), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureTaskUpdateBegin, (aclrtStream, aclrtTaskGrp), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICaptureTaskUpdateEnd, (aclrtStream), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIExecuteAsync, (aclmdlRI, aclrtStream), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIExecute, (aclmdlRI, int32_t), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIDestroy, (aclmdlRI), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIGetId, (aclmdlRI, uint32_t*), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIDebugPrint, (aclmdlRI), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIDebugJsonPrint, (aclmdlRI, const char*, uint32_t), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICondHandleCreate,
                     (aclmdlRI, uint32_t, aclmdlRICondHandleFlag, aclmdlRICondHandle*), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRICondHandleGetCondPtr, (aclmdlRICondHandle, uint64_t**), kNoCapture)
SOFTCANN_UNSUPPORTED(aclmdlRIAddCondTask, (aclmdlRICondTaskParams, aclrtStream, uint32_t),
                     kNoCapture)

SOFTCANN_UNSUPPORTED(aclmdlInitDump, (void), kNoDump)
SOFTCANN_UNSUPPORTED(aclmdlSetDump, (const char*), kNoDump)
SOFTCANN_UNSUPPORTED(aclmdlFinalizeDump, (void), kNoDump)

// CANN's profiler: no public header of softcann declares these, programs look them up by name.
// They look at none of their arguments.
SOFTCANN_UNDECLARED(aclprofInit, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofFinalize, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofStart, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofStop, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofWarmup, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofSetConfig, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofDestroyConfig, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofMarkEx, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofGetStepTimestamp, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofGetSupportedFeatures, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofGetSupportedFeaturesV2, kNoProfiler)
SOFTCANN_UNDECLARED(aclprofRegisterDeviceCallback, kNoProfiler)
SOFTCANN_UNDECLARED_OBJECT(aclprofCreateConfig, kNoProfiler)
SOFTCANN_UNDECLARED_OBJECT(aclprofCreateStepInfo, kNoProfiler)
SOFTCANN_UNDECLARED_OBJECT(aclprofDestroyStepInfo, kNoProfiler)

}  // extern "C"
