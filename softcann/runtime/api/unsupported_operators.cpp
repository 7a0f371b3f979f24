// Operators in files that a compiler has made, kernels of the program's own, and cblas.
#include "acl/acl_op.h"
#include "acl/ops/acl_cblas.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

namespace {

constexpr const char* kNoOperatorFiles =
    ": operators are not loaded from files; use aclopCompileAndExecute() or the aclnn operators";
constexpr const char* kNoCblas = ": use aclnnMatmul(), aclnnMv() or aclnnAddmm()";

}  // namespace

extern "C" {

SOFTCANN_UNSUPPORTED_FEATURE(aclopSetModelDir, (const char*), kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopLoad, (const void*, size_t), kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopExecute,
                             (const char*, int, const aclTensorDesc* const*,
                              const aclDataBuffer* const*, int, const aclTensorDesc* const*,
                              aclDataBuffer* const*, const aclopAttr*, aclrtStream),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopExecuteV2,
                             (const char*, int, aclTensorDesc*[], aclDataBuffer*[], int,
                              aclTensorDesc*[], aclDataBuffer*[], aclopAttr*, aclrtStream),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopCreateHandle,
                             (const char*, int, const aclTensorDesc* const*, int,
                              const aclTensorDesc* const*, const aclopAttr*, aclopHandle**),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_VOID(aclopDestroyHandle, (aclopHandle*), kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopExecWithHandle,
                             (aclopHandle*, int, const aclDataBuffer* const*, int,
                              aclDataBuffer* const*, aclrtStream),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopCast,
                             (const aclTensorDesc*, const aclDataBuffer*, const aclTensorDesc*,
                              aclDataBuffer*, uint8_t, aclrtStream),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopCreateHandleForCast,
                             (aclTensorDesc*, aclTensorDesc*, uint8_t, aclopHandle**),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopCreateKernel,
                             (const char*, const char*, const char*, void*, int, aclopEngineType,
                              aclDataDeallocator),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopRegisterCompileFunc, (const char*, aclopCompileFunc),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopUnregisterCompileFunc, (const char*), kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopSetKernelArgs,
                             (aclopKernelDesc*, const char*, uint32_t, const void*, uint32_t),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopSetKernelWorkspaceSizes, (aclopKernelDesc*, int, size_t*),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopUpdateParams,
                             (const char*, int, const aclTensorDesc* const*, int,
                              const aclTensorDesc* const*, const aclopAttr*),
                             kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopSetMaxOpQueueNum, (uint64_t), kNoOperatorFiles)
SOFTCANN_UNSUPPORTED_FEATURE(aclopInferShape,
                             (const char*, int, aclTensorDesc*[], aclDataBuffer*[], int,
                              aclTensorDesc*[], aclopAttr*),
                             kNoOperatorFiles)

SOFTCANN_UNSUPPORTED_FEATURE(aclblasGemvEx,
                             (aclTransType, int, int, const void*, const void*, int, aclDataType,
                              const void*, int, aclDataType, const void*, void*, int, aclDataType,
                              aclComputeType, aclrtStream),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasCreateHandleForGemvEx,
                             (aclTransType, int, int, aclDataType, aclDataType, aclDataType,
                              aclComputeType, aclopHandle**),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasHgemv,
                             (aclTransType, int, int, const aclFloat16*, const aclFloat16*, int,
                              const aclFloat16*, int, const aclFloat16*, aclFloat16*, int,
                              aclComputeType, aclrtStream),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasCreateHandleForHgemv,
                             (aclTransType, int, int, aclComputeType, aclopHandle**), kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasS8gemv,
                             (aclTransType, int, int, const int32_t*, const int8_t*, int,
                              const int8_t*, int, const int32_t*, int32_t*, int, aclComputeType,
                              aclrtStream),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasCreateHandleForS8gemv,
                             (aclTransType, int, int, aclComputeType, aclopHandle**), kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasGemmEx,
                             (aclTransType, aclTransType, aclTransType, int, int, int, const void*,
                              const void*, int, aclDataType, const void*, int, aclDataType,
                              const void*, void*, int, aclDataType, aclComputeType, aclrtStream),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasCreateHandleForGemmEx,
                             (aclTransType, aclTransType, aclTransType, int, int, int, aclDataType,
                              aclDataType, aclDataType, aclComputeType, aclopHandle**),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasHgemm,
                             (aclTransType, aclTransType, aclTransType, int, int, int,
                              const aclFloat16*, const aclFloat16*, int, const aclFloat16*, int,
                              const aclFloat16*, aclFloat16*, int, aclComputeType, aclrtStream),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasCreateHandleForHgemm,
                             (aclTransType, aclTransType, aclTransType, int, int, int,
                              aclComputeType, aclopHandle**),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasS8gemm,
                             (aclTransType, aclTransType, aclTransType, int, int, int,
                              const int32_t*, const int8_t*, int, const int8_t*, int,
                              const int32_t*, int32_t*, int, aclComputeType, aclrtStream),
                             kNoCblas)
SOFTCANN_UNSUPPORTED_FEATURE(aclblasCreateHandleForS8gemm,
                             (aclTransType, aclTransType, aclTransType, int, int, int,
                              aclComputeType, aclopHandle**),
                             kNoCblas)

}  // extern "C"
