// Functions for kernels of the program's own, which are binaries for a chip.
#include "acl/acl_rt_kernel.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

extern "C" {

SOFTCANN_UNSUPPORTED_VALUE(aclrtCreateBinary, (const void*, size_t), aclrtBinary, nullptr,
                           kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtDestroyBinary, (aclrtBinary), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinaryLoad, (const aclrtBinary, aclrtBinHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinaryLoadFromFile,
                             (const char*, aclrtBinaryLoadOptions*, aclrtBinHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinaryUnLoad, (aclrtBinHandle), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinaryGetDevAddress, (const aclrtBinHandle, void**, size_t*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinaryGetFunctionByEntry,
                             (aclrtBinHandle, uint64_t, aclrtFuncHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinaryGetGlobal, (aclrtBinHandle, const char*, void**, size_t*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtBinarySetExceptionCallback,
                             (aclrtBinHandle, aclrtOpExceptionCallback, void*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtRegisterCpuFunc,
                             (const aclrtBinHandle, const char*, const char*, aclrtFuncHandle*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtFunctionGetAvailDynUbufPerBlock, (void*, uint32_t, size_t*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtFunctionGetBinary, (const aclrtFuncHandle, aclrtBinHandle*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtFunctionGetParamCount, (const void*, size_t*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtFunctionGetParamInfo, (const void*, size_t, size_t*, size_t*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetFuncBySymbol, (const void*, aclrtFuncHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetFuncHandleFromExceptionInfo,
                             (const aclrtExceptionInfo*, aclrtFuncHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetFunctionAttribute,
                             (aclrtFuncHandle, aclrtFuncAttribute, int64_t*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetFunctionName, (aclrtFuncHandle, uint32_t, char*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetFunctionSize, (aclrtFuncHandle, size_t*, size_t*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetSymbolAddress, (const void*, void**), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetSymbolSize, (const void*, size_t*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemcpyFromSymbol,
                             (void*, size_t, const void*, size_t, size_t, aclrtMemcpyKind),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemcpyFromSymbolAsync,
                             (void*, size_t, const void*, size_t, size_t, aclrtMemcpyKind,
                              aclrtStream),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemcpyToSymbol,
                             (const void*, const void*, size_t, size_t, aclrtMemcpyKind),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtMemcpyToSymbolAsync,
                             (const void*, const void*, size_t, size_t, aclrtMemcpyKind,
                              aclrtStream),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsInit, (aclrtFuncHandle, aclrtArgsHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsInitByUserMem,
                             (aclrtFuncHandle, aclrtArgsHandle, void*, size_t), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsGetHandleMemSize, (aclrtFuncHandle, size_t*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsGetMemSize, (aclrtFuncHandle, size_t, size_t*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsAppend,
                             (aclrtArgsHandle, void*, size_t, aclrtParamHandle*), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsAppendPlaceHolder, (aclrtArgsHandle, aclrtParamHandle*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsGetPlaceHolderBuffer,
                             (aclrtArgsHandle, aclrtParamHandle, size_t, void**), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsParaUpdate,
                             (aclrtArgsHandle, aclrtParamHandle, void*, size_t), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtKernelArgsFinalize, (aclrtArgsHandle), kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchKernel,
                             (aclrtFuncHandle, uint32_t, const void*, size_t, aclrtStream),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchKernelV2,
                             (aclrtFuncHandle, uint32_t, const void*, size_t, aclrtLaunchKernelCfg*,
                              aclrtStream),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchKernelWithArgsArray,
                             (void*, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, void**),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchKernelWithConfig,
                             (aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*,
                              aclrtArgsHandle, void*),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchKernelWithHostArgs,
                             (aclrtFuncHandle, uint32_t, aclrtStream, aclrtLaunchKernelCfg*, void*,
                              size_t, aclrtPlaceHolderInfo*, size_t),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchSIMTKernelWithArgsArray,
                             (void*, dim3, dim3, size_t, aclrtStream, aclrtLaunchKernelCfg*,
                              void**),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtLaunchSIMTKernelWithHostArgs,
                             (void*, dim3, dim3, size_t, aclrtStream, aclrtLaunchKernelCfg*, void*,
                              size_t, aclrtPlaceHolderInfo*, size_t),
                             kNoBinaries)
SOFTCANN_UNSUPPORTED_FEATURE(aclrtGetArgsFromExceptionInfo,
                             (const aclrtExceptionInfo*, void**, uint32_t*), kNoBinaries)

}  // extern "C"
