// Functions for graphs that are built task by task, for their tasks, and for branches in them.
#include "acl/acl_rt_graph.h"
#include "acl/acl_rt_stream.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

namespace {

constexpr const char* kNoBranches =
    ": streams have no branches; copy the value to the host, and let the program choose";

}  // namespace

extern "C" {

SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIBuildBegin, (aclmdlRI*, uint32_t), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIBindStream, (aclmdlRI, aclrtStream, uint32_t), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIUnbindStream, (aclmdlRI, aclrtStream), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIEndTask, (aclmdlRI, aclrtStream), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIBuildEnd, (aclmdlRI, void*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIAbort, (aclmdlRI), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRISetName, (aclmdlRI, const char*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIGetName, (aclmdlRI, uint32_t, char*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIDestroyRegisterCallback, (aclmdlRI, aclrtCallback, void*),
                             kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIDestroyUnregisterCallback, (aclmdlRI, aclrtCallback),
                             kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIGetStreams, (aclmdlRI, aclrtStream*, uint32_t*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIGetTasksByStream, (aclrtStream, aclmdlRITask*, uint32_t*),
                             kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIKernelTaskGetAttribute,
                             (aclmdlRITask, aclrtLaunchKernelAttrId, aclrtLaunchKernelAttrValue*),
                             kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRITaskDisable, (aclmdlRITask), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRITaskGetParams, (aclmdlRITask, aclmdlRITaskParams*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRITaskGetSeqId, (aclmdlRITask, uint32_t*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRITaskGetType, (aclmdlRITask, aclmdlRITaskType*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRITaskSetParams, (aclmdlRITask, aclmdlRITaskParams*), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlRIUpdate, (aclmdlRI), kNoCapture)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCacheLastTaskExtendInfo, (const char*, const size_t),
                             ": it describes tasks of captured graphs, and graphs cannot be "
                             "captured yet; leave the call out")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCacheLastTaskOpInfo, (const void*, const size_t),
                             ": it describes tasks of captured graphs, and graphs cannot be "
                             "captured yet; leave the call out")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtRandomNumAsync, (const aclrtRandomNumTaskInfo*, const aclrtStream, void*),
    ": use aclnnInplaceUniform(), aclnnInplaceNormal() or aclnnDropoutGenMaskV2()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtTaskUpdateAsync,
                             (aclrtStream, uint32_t, aclrtTaskUpdateInfo*, aclrtStream),
                             ": tasks cannot be changed once a stream has them; enqueue new ones")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtActiveStream, (aclrtStream, aclrtStream), kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtSwitchStream,
                             (void*, aclrtCondition, void*, aclrtCompareDataType, aclrtStream,
                              aclrtStream, aclrtStream),
                             kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCreateLabel, (aclrtLabel*), kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDestroyLabel, (aclrtLabel), kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtSetLabel, (aclrtLabel, aclrtStream), kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCreateLabelList, (aclrtLabel*, size_t, aclrtLabelList*),
                             kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDestroyLabelList, (aclrtLabelList), kNoBranches)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtSwitchLabelByIndex,
                             (void*, uint32_t, aclrtLabelList, aclrtStream), kNoBranches)

}  // extern "C"
