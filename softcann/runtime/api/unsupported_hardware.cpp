// Functions for parts of the hardware that an imitated card does not have.
#include "acl/acl_rt.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

namespace {

constexpr const char* kNoOverflowStatus =
    ": overflow detection is not supported; results are IEEE infinities and NaNs, which the "
    "program "
    "can look for";

constexpr const char* kNoCacheDescriptors = ": use aclrtCmoAsync() with the address and the size";

}  // namespace

extern "C" {

SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetOverflowStatus, (void*, size_t, aclrtStream),
                             kNoOverflowStatus)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtResetOverflowStatus, (aclrtStream), kNoOverflowStatus)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetFloatOverflowStatus, (void*, uint64_t, aclrtStream),
                             kNoOverflowStatus)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtResetFloatOverflowStatus, (aclrtStream), kNoOverflowStatus)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtNpuGetFloatOverFlowStatus,
                             (void*, uint64_t, uint32_t, aclrtStream), kNoOverflowStatus)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtNpuClearFloatOverFlowStatus, (uint32_t, aclrtStream),
                             kNoOverflowStatus)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCtxGetFloatOverflowAddr, (void**), kNoOverflowStatus)

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtStreamStop, (aclrtStream),
    ": a task that runs cannot be interrupted; aclrtStreamAbort() drops the others")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtPersistentTaskClean, (aclrtStream),
                             ": streams keep no tasks; leave the call out")

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtGetStreamAvailableNum, (uint32_t*),
    ": there is no fixed number; the host's threads and memory are the limit")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtGetEventAvailNum, (uint32_t*),
    ": there is no fixed number; the host's threads and memory are the limit")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetThreadLastTaskId, (uint32_t*),
                             ": tasks are not known by number; record an event behind the task")

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSubscribeHostFunc, (uint64_t, aclrtStream),
    ": functions of aclrtLaunchHostFunc() run on the stream's own thread; for one of the "
    "program's, use aclrtSubscribeReport() and aclrtLaunchCallback()")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtUnSubscribeHostFunc, (uint64_t, aclrtStream),
    ": functions of aclrtLaunchHostFunc() run on the stream's own thread; for one of the "
    "program's, use aclrtSubscribeReport() and aclrtLaunchCallback()")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtProcessHostFunc, (int32_t),
    ": functions of aclrtLaunchHostFunc() run on the stream's own thread; for one of the "
    "program's, use aclrtSubscribeReport() and aclrtLaunchCallback()")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtProfTrace, (void*, int32_t, aclrtStream),
                             ": use aclprofMarkEx() with SOFTCANN_TRACE")

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSnapShotCallbackRegister, (aclrtSnapShotStage, aclrtSnapShotCallBack, void*),
    ": processes cannot be saved with their devices; copy what is to be kept to the host")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSnapShotCallbackUnregister, (aclrtSnapShotStage, aclrtSnapShotCallBack),
    ": processes cannot be saved with their devices; copy what is to be kept to the host")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSnapShotProcessBackup, (int, aclrtSnapShotBackupArgs*),
    ": processes cannot be saved with their devices; copy what is to be kept to the host")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSnapShotProcessLock, (int, void*),
    ": processes cannot be saved with their devices; copy what is to be kept to the host")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSnapShotProcessRestore, (int, aclrtSnapShotRestoreArgs*),
    ": processes cannot be saved with their devices; copy what is to be kept to the host")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtSnapShotProcessUnlock, (int, void*),
    ": processes cannot be saved with their devices; copy what is to be kept to the host")

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtNotifySetImportPidInterServer, (aclrtNotify, aclrtServerPid*, size_t),
    ": there is one server; use aclrtNotifySetImportPid() or aclrtIpcMemSetImportPid()")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtIpcMemImportPidInterServer, (const char*, aclrtServerPid*, size_t),
    ": there is one server; use aclrtNotifySetImportPid() or aclrtIpcMemSetImportPid()")

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtCmoAsyncWithBarrier, (void*, size_t, aclrtCmoType, uint32_t, aclrtStream),
    ": memory is coherent, so that nothing needs to be written back; leave the call out")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtCmoWaitBarrier, (aclrtBarrierTaskInfo*, aclrtStream, uint32_t),
    ": memory is coherent, so that nothing needs to be written back; leave the call out")

SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtMemMapNoAccess, (void*, size_t, size_t, aclrtDrvMemHandle, uint64_t),
    ": there are no links between devices to choose from; use aclrtMapMem()")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtMemMapSelectedLink, (void*, size_t, void*, uint32_t),
    ": there are no links between devices to choose from; use aclrtMapMem()")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtMemMapSetLink, (aclrtDrvMemHandle, aclrtMemLinkType),
    ": there are no links between devices to choose from; use aclrtMapMem()")
SOFTCANN_UNSUPPORTED_FEATURE(
    aclrtIpcMemSetAttr, (const char*, aclrtIpcMemAttrType, uint64_t),
    ": there are no links between devices to choose from; use aclrtMapMem()")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemExportToShareableHandleV2,
                             (aclrtDrvMemHandle, uint64_t, aclrtMemSharedHandleType, void*),
                             kNoSharing)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemImportFromShareableHandleV2,
                             (void*, aclrtMemSharedHandleType, uint64_t, aclrtDrvMemHandle*),
                             kNoSharing)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemSetPidToShareableHandleV2,
                             (void*, aclrtMemSharedHandleType, int32_t*, size_t), kNoSharing)

SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemAllocManaged, (void**, uint64_t, uint32_t),
                             ": the host cannot address device memory; use aclrtMalloc() and "
                             "copies, or aclrtMallocHost() with aclrtHostGetDevicePointer()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemManagedAdvise,
                             (const void*, uint64_t, aclrtMemManagedAdviseType,
                              aclrtMemManagedLocation),
                             ": the host cannot address device memory; use aclrtMalloc() and "
                             "copies, or aclrtMallocHost() with aclrtHostGetDevicePointer()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemManagedGetAttr,
                             (aclrtMemManagedRangeAttribute, const void*, size_t, void*, size_t),
                             ": the host cannot address device memory; use aclrtMalloc() and "
                             "copies, or aclrtMallocHost() with aclrtHostGetDevicePointer()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemManagedGetAttrs,
                             (aclrtMemManagedRangeAttribute*, size_t, const void*, size_t, void**,
                              size_t*),
                             ": the host cannot address device memory; use aclrtMalloc() and "
                             "copies, or aclrtMallocHost() with aclrtHostGetDevicePointer()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemManagedPrefetchAsync,
                             (const void*, size_t, aclrtMemManagedLocation, uint32_t, aclrtStream),
                             ": the host cannot address device memory; use aclrtMalloc() and "
                             "copies, or aclrtMallocHost() with aclrtHostGetDevicePointer()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemManagedPrefetchBatchAsync,
                             (const void**, size_t*, size_t, aclrtMemManagedLocation*, size_t*,
                              size_t, uint64_t, aclrtStream),
                             ": the host cannot address device memory; use aclrtMalloc() and "
                             "copies, or aclrtMallocHost() with aclrtHostGetDevicePointer()")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtAllocBuf, (aclrtMbuf*, size_t),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtFreeBuf, (aclrtMbuf),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetBufData, (const aclrtMbuf, void**, size_t*),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtSetBufDataLen, (aclrtMbuf, size_t),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetBufDataLen, (aclrtMbuf, size_t*),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetBufUserData, (const aclrtMbuf, void*, size_t, size_t),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtSetBufUserData, (aclrtMbuf, const void*, size_t, size_t),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCopyBufRef, (const aclrtMbuf, aclrtMbuf*),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtAppendBufChain, (aclrtMbuf, aclrtMbuf),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetBufChainNum, (aclrtMbuf, uint32_t*),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetBufFromChain, (aclrtMbuf, uint32_t, aclrtMbuf*),
                             ": the device has no message queues; use memory of aclrtMalloc() and, "
                             "between processes, aclrtIpcMemGetExportKey()")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceGetByPCIBusId, (const char*, int32_t*),
                             ": devices are not on a bus; use their ids, or aclrtDeviceGetUuid()")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceGetPCIBusId, (int32_t, char*, int32_t),
                             ": devices are not on a bus; use their ids, or aclrtDeviceGetUuid()")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetDevicesTopo, (uint32_t, uint32_t, uint64_t*),
                             ": there are no links between devices; all of a process see each "
                             "other, as aclrtDeviceCanAccessPeer() says")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceGetHostAtomicCapabilities,
                             (uint32_t*, const aclrtAtomicOperation*, const uint32_t, int32_t),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceGetP2PAtomicCapabilities,
                             (uint32_t*, const aclrtAtomicOperation*, const uint32_t, int32_t,
                              int32_t),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceGetLimit, (aclrtDeviceLimit, size_t*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceSetLimit, (aclrtDeviceLimit, size_t), kNoBinaries)

SOFTCANN_UNSUPPORTED_FEATURE(aclrtDeviceL2CacheFlush, (void*),
                             ": memory is coherent; leave the call out")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetHardwareSyncAddr, (void**), kNoBinaries)

SOFTCANN_UNSUPPORTED_VALUE(aclrtCreateGroupInfo, (void), aclrtGroupInfo*, nullptr,
                           ": devices are whole, and aclrtGetGroupCount() is 0; use "
                           "aclrtSetDeviceResLimit() for a part of the cores")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDestroyGroupInfo, (aclrtGroupInfo*),
                             ": devices are whole, and aclrtGetGroupCount() is 0; use "
                             "aclrtSetDeviceResLimit() for a part of the cores")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetAllGroupInfo, (aclrtGroupInfo*),
                             ": devices are whole, and aclrtGetGroupCount() is 0; use "
                             "aclrtSetDeviceResLimit() for a part of the cores")
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetGroupInfoDetail,
                             (const aclrtGroupInfo*, int32_t, aclrtGroupAttr, void*, size_t,
                              size_t*),
                             ": devices are whole, and aclrtGetGroupCount() is 0; use "
                             "aclrtSetDeviceResLimit() for a part of the cores")

SOFTCANN_UNSUPPORTED_FEATURE(aclrtCmoGetDescSize, (size_t*), kNoCacheDescriptors)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCmoSetDesc, (void*, void*, size_t), kNoCacheDescriptors)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtCmoAsyncWithDesc, (void*, aclrtCmoType, aclrtStream, const void*),
                             kNoCacheDescriptors)

}  // extern "C"
