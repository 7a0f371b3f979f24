// Functions of the public interface that softcann does not implement. Each says so; none pretends
// to have worked.
#include "runtime/api/unsupported.h"
#include "acl/acl_rt.h"

using namespace softcann;

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

}  // extern "C"
