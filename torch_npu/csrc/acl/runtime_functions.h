// The AscendCL runtime functions that the backend calls, as X-macro lists.
//
// A function goes into the required list if no device can be used without it: a CANN that lacks
// it is refused at load time, by name. Everything else is optional: its pointer is null where the
// CANN lacks it, and the caller tests it.
#pragma once

#define TORCH_NPU_REQUIRED_RUNTIME_FUNCTIONS(X) \
  X(aclInit)                                    \
  X(aclFinalize)                                \
  X(aclGetRecentErrMsg)                         \
  X(aclrtSetDevice)                             \
  X(aclrtGetDevice)                             \
  X(aclrtGetDeviceCount)                        \
  X(aclrtSynchronizeDevice)                     \
  X(aclrtGetMemInfo)                            \
  X(aclrtMalloc)                                \
  X(aclrtFree)                                  \
  X(aclrtMallocHost)                            \
  X(aclrtFreeHost)                              \
  X(aclrtMemset)                                \
  X(aclrtMemsetAsync)                           \
  X(aclrtMemcpy)                                \
  X(aclrtMemcpyAsync)                           \
  X(aclrtCreateStreamWithConfig)                \
  X(aclrtDestroyStream)                         \
  X(aclrtSynchronizeStream)                     \
  X(aclrtStreamWaitEvent)                       \
  X(aclrtCreateEventWithFlag)                   \
  X(aclrtDestroyEvent)                          \
  X(aclrtRecordEvent)                           \
  X(aclrtSynchronizeEvent)                      \
  X(aclrtQueryEventStatus)                      \
  X(aclrtEventElapsedTime)

#define TORCH_NPU_OPTIONAL_RUNTIME_FUNCTIONS(X) \
  X(aclrtResetDevice)                           \
  X(aclrtSynchronizeDeviceWithTimeout)          \
  X(aclrtGetSocName)                            \
  X(aclrtGetDeviceInfo)                         \
  X(aclrtDeviceGetUuid)                         \
  X(aclrtCreateContext)                         \
  X(aclrtDestroyContext)                        \
  X(aclrtGetCurrentContext)                     \
  X(aclrtSetCurrentContext)                     \
  X(aclrtGetPrimaryCtxState)                    \
  X(aclrtCreateStream)                          \
  X(aclrtDestroyStreamForce)                    \
  X(aclrtSynchronizeStreamWithTimeout)          \
  X(aclrtStreamQuery)                           \
  X(aclrtStreamGetId)                           \
  X(aclrtStreamAbort)                           \
  X(aclrtSetStreamFailureMode)                  \
  X(aclrtDeviceGetStreamPriorityRange)          \
  X(aclrtCreateEventExWithFlag)                 \
  X(aclrtResetEvent)                            \
  X(aclrtSynchronizeEventWithTimeout)           \
  X(aclrtQueryEventWaitStatus)                  \
  X(aclrtEventGetTimestamp)                     \
  X(aclrtSetOpExecuteTimeOutV2)                 \
  X(aclrtMemcpy2d)                              \
  X(aclrtMemcpy2dAsync)                         \
  X(aclrtPointerGetAttributes)                  \
  X(aclrtHostRegister)                          \
  X(aclrtHostUnregister)                        \
  X(aclrtReserveMemAddress)                     \
  X(aclrtReleaseMemAddress)                     \
  X(aclrtMallocPhysical)                        \
  X(aclrtFreePhysical)                          \
  X(aclrtMapMem)                                \
  X(aclrtUnmapMem)                              \
  X(aclrtDeviceCanAccessPeer)                   \
  X(aclrtDeviceEnablePeerAccess)                \
  X(aclrtIpcMemGetExportKey)                    \
  X(aclrtIpcMemImportByKey)                     \
  X(aclrtIpcMemClose)                           \
  X(aclrtIpcMemSetImportPid)                    \
  X(aclrtLaunchCallback)                        \
  X(aclrtSubscribeReport)                       \
  X(aclrtUnSubscribeReport)                     \
  X(aclrtProcessReport)                         \
  X(aclrtLaunchHostFunc)                        \
  X(aclrtValueWrite)                            \
  X(aclrtValueWait)                             \
  X(aclmdlRICaptureBegin)                       \
  X(aclmdlRICaptureEnd)                         \
  X(aclmdlRICaptureGetInfo)                     \
  X(aclmdlRICaptureThreadExchangeMode)          \
  X(aclmdlRIExecuteAsync)                       \
  X(aclmdlRIDestroy)                            \
  X(aclsysGetCANNVersion)                       \
  X(aclsysGetVersionStr)                        \
  X(aclrtMemGetAllocationGranularity)           \
  X(aclrtMemGetAddressRange)                    \
  X(aclrtGetMemUsageInfo)                       \
  X(aclrtHostRegisterV2)                        \
  X(aclrtHostGetDevicePointer)                  \
  X(aclrtDeviceDisablePeerAccess)               \
  X(aclrtDeviceGetBareTgid)                     \
  X(aclrtGetDeviceUtilizationRate)              \
  X(aclrtCtxSetSysParamOpt)                     \
  X(aclrtSetSysParamOpt)                        \
  X(aclrtSetOpWaitTimeout)                      \
  X(aclrtSetOpExecuteTimeOut)                   \
  X(aclrtCtxGetCurrentDefaultStream)            \
  X(aclrtStreamGetPriority)                     \
  X(aclrtStreamWaitEventWithTimeout)            \
  X(aclrtIpcGetEventHandle)                     \
  X(aclrtIpcOpenEventHandle)                    \
  X(aclmdlRICaptureTaskGrpBegin)                \
  X(aclmdlRICaptureTaskGrpEnd)                  \
  X(aclmdlRICaptureTaskUpdateBegin)             \
  X(aclmdlRICaptureTaskUpdateEnd)               \
  X(aclmdlRIDebugPrint)
