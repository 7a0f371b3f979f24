// The functions that libatb.so exports.
#include <functional>
#include <numeric>

#include "atb/operation.h"

using namespace softcann;

namespace {

class StreamContext : public atb::Context {
 public:
  atb::Status SetExecuteStream(aclrtStream stream) override {
    stream_ = stream;
    return atb::NO_ERROR;
  }
  aclrtStream GetExecuteStream() const override { return stream_; }
  // Where tiling data is copied from; there is none here, whatever is set.
  atb::Status SetAsyncTilingCopyStatus(bool enable) override {
    async_tiling_copy_ = enable;
    return atb::NO_ERROR;
  }
  bool GetAsyncTilingCopyStatus() const override { return async_tiling_copy_; }

 private:
  aclrtStream stream_ = nullptr;
  bool async_tiling_copy_ = false;
};

atb::Status give(std::unique_ptr<atb::Operation> made, atb::Operation** operation) {
  if (made == nullptr) return atb::ERROR_INVALID_PARAM;
  *operation = made.release();
  return atb::NO_ERROR;
}

}  // namespace

namespace atb {

Status CreateContext(Context** context) {
  if (context == nullptr) return refuse("CreateContext", "context is null");
  *context = new StreamContext;
  return NO_ERROR;
}

Status DestroyContext(Context* context) {
  delete context;
  return NO_ERROR;
}

Status DestroyOperation(Operation* operation) {
  delete operation;
  return NO_ERROR;
}

uint64_t Utils::GetTensorSize(const Tensor& tensor) {
  const Dims& shape = tensor.desc.shape;
  return std::accumulate(shape.dims, shape.dims + shape.dimNum,
                         uint64_t{aclDataTypeSize(tensor.desc.dtype)}, std::multiplies<>());
}

#define SOFTCANN_OPERATION(Param)                                                         \
  template <>                                                                             \
  SOFTCANN_ATB Status CreateOperation(const infer::Param& param, Operation** operation) { \
    return give(make(param), operation);                                                  \
  }

SOFTCANN_OPERATION(RopeParam)
SOFTCANN_OPERATION(ReshapeAndCacheParam)
SOFTCANN_OPERATION(LinearParam)
SOFTCANN_OPERATION(PagedAttentionParam)
SOFTCANN_OPERATION(SelfAttentionParam)

// `instead` are functions of the official torch_npu that compute the same through aclnn.
#define SOFTCANN_NO_OPERATION(Param, instead)                              \
  template <>                                                              \
  SOFTCANN_ATB Status CreateOperation(const infer::Param&, Operation**) {  \
    return refuse(#Param, "softcann has no such operation; use " instead); \
  }

SOFTCANN_NO_OPERATION(ElewiseParam, "torch_npu.npu_quantize")
SOFTCANN_NO_OPERATION(GroupTopkParam, "torch_npu.npu_moe_gating_top_k")
SOFTCANN_NO_OPERATION(RmsNormParam, "torch_npu.npu_rms_norm and torch_npu.npu_quantize")

}  // namespace atb
