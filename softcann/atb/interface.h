// The C++ interface of Ascend Transformer Boost (libatb.so), as far as the official torch_npu uses
// it. Names, orders and sizes are those that its clients are compiled with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "acl/acl.h"

#define SOFTCANN_ATB __attribute__((visibility("default")))

namespace atb {

using Status = int32_t;

enum : Status {
  NO_ERROR = 0,
  ERROR_INVALID_PARAM = 1,
  ERROR_INVALID_IN_TENSOR_NUM = 5,
  ERROR_CANN_ERROR = 12,
};

struct Dims {
  int64_t dims[8];
  uint64_t dimNum = 0;
};

struct TensorDesc {
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  Dims shape;
};

// Contiguous. One that the client leaves out has no dtype and no address.
struct Tensor {
  TensorDesc desc;
  void* deviceData = nullptr;
  void* hostData = nullptr;
  uint64_t dataSize = 0;
};

// A vector that clients fill: up to 64 elements in place, more on the heap.
template <class T>
class SVector {
 public:
  size_t size() const { return size_; }
  const T& operator[](size_t i) const { return heap_ != nullptr ? heap_[i] : storage_[i]; }
  T& operator[](size_t i) { return heap_ != nullptr ? heap_[i] : storage_[i]; }

  // false where there is no room.
  bool resize(size_t size) {
    if (size > (heap_ != nullptr ? capacity_ : kInPlace)) return false;
    size_ = size;
    return true;
  }

 private:
  static constexpr size_t kInPlace = 64;
  size_t capacity_ = 0;  // of the heap
  size_t size_ = 0;
  T storage_[kInPlace + 1];
  T* heap_ = nullptr;
};

struct VariantPack {
  SVector<Tensor> inTensors;
  SVector<Tensor> outTensors;
};

class Context {
 public:
  virtual ~Context() = default;
  virtual Status SetExecuteStream(aclrtStream stream) = 0;
  virtual aclrtStream GetExecuteStream() const = 0;
  virtual Status SetAsyncTilingCopyStatus(bool enable) = 0;
  virtual bool GetAsyncTilingCopyStatus() const = 0;
};

// Setup() and then Execute() with the same tensors, as often as the client likes.
class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string GetName() const = 0;
  virtual Status InferShape(const SVector<TensorDesc>& inputs,
                            SVector<TensorDesc>& outputs) const = 0;
  virtual uint32_t GetInputNum() const = 0;
  virtual uint32_t GetOutputNum() const = 0;
  virtual Status Setup(const VariantPack& tensors, uint64_t& workspaceSize, Context* context) = 0;
  virtual Status Execute(const VariantPack& tensors, uint8_t* workspace, uint64_t workspaceSize,
                         Context* context) = 0;
};

SOFTCANN_ATB Status CreateContext(Context** context);
SOFTCANN_ATB Status DestroyContext(Context* context);
template <class Param>
SOFTCANN_ATB Status CreateOperation(const Param& param, Operation** operation);
SOFTCANN_ATB Status DestroyOperation(Operation* operation);

class SOFTCANN_ATB Utils {
 public:
  static uint64_t GetTensorSize(const Tensor& tensor);
};

namespace infer {

struct RopeParam {
  int32_t rotaryCoeff = 4;
  int32_t cosFormat = 0;
  uint8_t reserved[8] = {};
};

struct ReshapeAndCacheParam {
  enum CompressType : int32_t { COMPRESS_TYPE_UNDEFINED = 0 };
  enum KvCacheCfg : int32_t { K_CACHE_V_CACHE = 0, K_CACHE_V_BYPASS, K_CACHE_V_CACHE_NZ };
  CompressType compressType = COMPRESS_TYPE_UNDEFINED;
  KvCacheCfg kvCacheCfg = K_CACHE_V_CACHE;
  uint8_t reserved[16] = {};
};

struct LinearParam {
  bool transposeA = false;
  bool transposeB = true;
  bool hasBias = true;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  bool enAccum = false;
  uint8_t reserved[23] = {};
};

struct PagedAttentionParam {
  int32_t headNum = 0;
  float qkScale = 1;
  int32_t kvHeadNum = 0;
  int32_t maskType = 0;
  bool batchRunStatusEnable = false;
  int32_t quantType = 0;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  bool hasQuantOffset = false;
  int32_t compressType = 0;
  int32_t calcType = 0;
  int32_t scaleType = 0;
  int32_t inputLayout = 0;
  uint32_t mlaVHeadSize = 0;
  uint8_t reserved[68] = {};
};

struct SelfAttentionParam {
  enum CalcType : int32_t { PA_ENCODER = 3 };
  enum MaskType : int32_t { MASK_TYPE_UNDEFINED = 0, MASK_TYPE_NORM = 1 };
  int32_t quantType = 0;
  aclDataType outDataType = ACL_DT_UNDEFINED;
  int32_t headNum = 0;
  int32_t kvHeadNum = 0;
  float qScale = 1;
  float qkScale = 1;
  bool batchRunStatusEnable = false;
  uint32_t isTriuMask = 0;
  int32_t calcType = 0;
  int32_t kernelType = 0;  // how precise; always exact here
  int32_t clampType = 0;
  float clampMin = 0;
  float clampMax = 0;
  int32_t maskType = 0;
  int32_t kvcacheCfg = 0;
  int32_t scaleType = 0;
  int32_t inputLayout = 0;
  uint32_t mlaVHeadSize = 0;
  int8_t cacheType = 0;
  uint32_t windowSize = 0;
  uint8_t reserved[64] = {};
};

struct ElewiseParam;
struct GroupTopkParam;
struct RmsNormParam;

}  // namespace infer
}  // namespace atb
