// Functions for models that a compiler has made for a chip.
#include "acl/acl_mdl.h"
#include "runtime/api/unsupported.h"

using namespace softcann;

namespace {

constexpr const char* kNoModels =
    ": models for a chip cannot run here; use the aclnn operators, or the model itself in PyTorch";

}  // namespace

extern "C" {

SOFTCANN_UNSUPPORTED_VALUE(aclmdlCreateDesc, (void), aclmdlDesc*, nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlDestroyDesc, (aclmdlDesc*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetDesc, (aclmdlDesc*, uint32_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetDescFromFile, (aclmdlDesc*, const char*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetDescFromMem, (aclmdlDesc*, const void*, size_t), kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetNumInputs, (aclmdlDesc*), size_t, 0, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetNumOutputs, (aclmdlDesc*), size_t, 0, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetInputSizeByIndex, (aclmdlDesc*, size_t), size_t, 0, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetOutputSizeByIndex, (aclmdlDesc*, size_t), size_t, 0, kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetInputDims, (const aclmdlDesc*, size_t, aclmdlIODims*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetInputDimsV2, (const aclmdlDesc*, size_t, aclmdlIODims*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetInputDimsRange,
                             (const aclmdlDesc*, size_t, aclmdlIODimsRange*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetOutputDims, (const aclmdlDesc*, size_t, aclmdlIODims*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetCurOutputDims, (const aclmdlDesc*, size_t, aclmdlIODims*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetOpAttr, (aclmdlDesc*, const char*, const char*), const char*,
                           nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetInputNameByIndex, (const aclmdlDesc*, size_t), const char*,
                           nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetOutputNameByIndex, (const aclmdlDesc*, size_t), const char*,
                           nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetInputFormat, (const aclmdlDesc*, size_t), aclFormat,
                           ACL_FORMAT_UNDEFINED, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetOutputFormat, (const aclmdlDesc*, size_t), aclFormat,
                           ACL_FORMAT_UNDEFINED, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetInputDataType, (const aclmdlDesc*, size_t), aclDataType,
                           ACL_DT_UNDEFINED, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetOutputDataType, (const aclmdlDesc*, size_t), aclDataType,
                           ACL_DT_UNDEFINED, kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetInputIndexByName, (const aclmdlDesc*, const char*, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetOutputIndexByName, (const aclmdlDesc*, const char*, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetDynamicBatch, (const aclmdlDesc*, aclmdlBatch*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetDynamicHW, (const aclmdlDesc*, size_t, aclmdlHW*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetInputDynamicGearCount, (const aclmdlDesc*, size_t, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetInputDynamicDims,
                             (const aclmdlDesc*, size_t, aclmdlIODims*, size_t), kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetTensorRealName, (const aclmdlDesc*, const char*), const char*,
                           nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlCreateDataset, (void), aclmdlDataset*, nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlDestroyDataset, (const aclmdlDataset*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlAddDatasetBuffer, (aclmdlDataset*, aclDataBuffer*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetDatasetTensorDesc, (aclmdlDataset*, aclTensorDesc*, size_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetDatasetTensorDesc, (const aclmdlDataset*, size_t),
                           aclTensorDesc*, nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetDatasetNumBuffers, (const aclmdlDataset*), size_t, 0, kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlGetDatasetBuffer, (const aclmdlDataset*, size_t), aclDataBuffer*,
                           nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromFile, (const char*, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleLoadFromFile, (const char*, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleLoadFromMem, (const void*, size_t, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleUnload, (uint32_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleGetModelNum, (uint32_t, size_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleGetModelId, (uint32_t, size_t, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlBundleCreateQueryInfo, (void), aclmdlBundleQueryInfo*, nullptr,
                           kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleDestroyQueryInfo, (aclmdlBundleQueryInfo*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleQueryInfoFromFile, (const char*, aclmdlBundleQueryInfo*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleQueryInfoFromMem,
                             (const void*, size_t, aclmdlBundleQueryInfo*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleGetQueryModelNum, (const aclmdlBundleQueryInfo*, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleGetVarWeightSize, (const aclmdlBundleQueryInfo*, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleGetSize,
                             (const aclmdlBundleQueryInfo*, size_t, size_t*, size_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleInitFromFile, (const char*, void*, size_t, uint32_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleInitFromMem,
                             (const void*, size_t, void*, size_t, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleLoadModel, (uint32_t, size_t, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleLoadModelWithMem,
                             (uint32_t, size_t, void*, size_t, void*, size_t, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleLoadModelWithConfig,
                             (uint32_t, size_t, aclmdlConfigHandle*, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlBundleUnloadModel, (uint32_t, uint32_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromMem, (const void*, size_t, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromFileWithMem,
                             (const char*, uint32_t*, void*, size_t, void*, size_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromMemWithMem,
                             (const void*, size_t, uint32_t*, void*, size_t, void*, size_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromFileWithQ,
                             (const char*, uint32_t*, const uint32_t*, size_t, const uint32_t*,
                              size_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromMemWithQ,
                             (const void*, size_t, uint32_t*, const uint32_t*, size_t,
                              const uint32_t*, size_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlUnload, (uint32_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlQuerySize, (const char*, size_t*, size_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlQueryExeOMDesc, (const char*, aclmdlExeOMDesc*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlQuerySizeFromMem, (const void*, size_t, size_t*, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadWithConfig, (const aclmdlConfigHandle*, uint32_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlCreateConfigHandle, (void), aclmdlConfigHandle*, nullptr,
                           kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlDestroyConfigHandle, (aclmdlConfigHandle*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetConfigOpt,
                             (aclmdlConfigHandle*, aclmdlConfigAttr, const void*, size_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetExternalWeightAddress,
                             (aclmdlConfigHandle*, const char*, void*, size_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlLoadFromModel,
                             (const aclmdlModel*, const aclmdlConfigHandle*, uint32_t*), kNoModels)
SOFTCANN_UNSUPPORTED_VALUE(aclmdlCreateExecConfigHandle, (void), aclmdlExecConfigHandle*, nullptr,
                           kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlDestroyExecConfigHandle, (const aclmdlExecConfigHandle*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlExecute, (uint32_t, const aclmdlDataset*, aclmdlDataset*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlExecuteV2,
                             (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream,
                              const aclmdlExecConfigHandle*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlExecuteAsyncV2,
                             (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream,
                              const aclmdlExecConfigHandle*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlExecuteAsync,
                             (uint32_t, const aclmdlDataset*, aclmdlDataset*, aclrtStream),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAttribute, (uint32_t, aclmdlAttr, aclmdlAttrValue_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetAttribute, (uint32_t, aclmdlAttr, aclmdlAttrValue_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetDynamicBatchSize,
                             (uint32_t, aclmdlDataset*, size_t, uint64_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetDynamicHWSize,
                             (uint32_t, aclmdlDataset*, size_t, uint64_t, uint64_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetInputDynamicDims,
                             (uint32_t, aclmdlDataset*, size_t, const aclmdlIODims*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlCreateAndGetOpDesc,
                             (uint32_t, uint32_t, uint32_t, char*, size_t, aclTensorDesc**, size_t*,
                              aclTensorDesc**, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetExecConfigOpt,
                             (aclmdlExecConfigHandle*, aclmdlExecConfigAttr, const void*, size_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(
    aclRecoverAllHcclTasks, (int32_t),
    ": there are no collectives on the device; use the backend gloo on the CPU")
SOFTCANN_UNSUPPORTED_VALUE(aclmdlCreateAIPP, (uint64_t), aclmdlAIPP*, nullptr, kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlDestroyAIPP, (const aclmdlAIPP*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetAippDataSize, (uint64_t, size_t*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPInputFormat, (aclmdlAIPP*, aclAippInputFormat), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPCscParams,
                             (aclmdlAIPP*, int8_t, int16_t, int16_t, int16_t, int16_t, int16_t,
                              int16_t, int16_t, int16_t, int16_t, uint8_t, uint8_t, uint8_t,
                              uint8_t, uint8_t, uint8_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPRbuvSwapSwitch, (aclmdlAIPP*, int8_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPAxSwapSwitch, (aclmdlAIPP*, int8_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPSrcImageSize, (aclmdlAIPP*, int32_t, int32_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPScfParams,
                             (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPCropParams,
                             (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPPaddingParams,
                             (aclmdlAIPP*, int8_t, int32_t, int32_t, int32_t, int32_t, uint64_t),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPDtcPixelMean,
                             (aclmdlAIPP*, int16_t, int16_t, int16_t, int16_t, uint64_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPDtcPixelMin,
                             (aclmdlAIPP*, float, float, float, float, uint64_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPPixelVarReci,
                             (aclmdlAIPP*, float, float, float, float, uint64_t), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetInputAIPP,
                             (uint32_t, aclmdlDataset*, size_t, const aclmdlAIPP*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlSetAIPPByInputIndex,
                             (uint32_t, aclmdlDataset*, size_t, const aclmdlAIPP*), kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetAippType, (uint32_t, size_t, aclmdlInputAippType*, size_t*),
                             kNoModels)
SOFTCANN_UNSUPPORTED_FEATURE(aclmdlGetFirstAippInfo, (uint32_t, size_t, aclAippInfo*), kNoModels)

}  // extern "C"
