#include "aclnn/core/descriptors.h"

#include <c10/core/ScalarType.h>
#include <c10/util/accumulate.h>

#include <cstring>

#include "runtime/core/task.h"

namespace softcann::aclnn {

namespace {

struct TypePair {
  aclDataType acl;
  at::ScalarType torch;
};

constexpr TypePair kTypes[] = {
    {ACL_FLOAT, at::kFloat},
    {ACL_FLOAT16, at::kHalf},
    {ACL_BF16, at::kBFloat16},
    {ACL_DOUBLE, at::kDouble},
    {ACL_INT8, at::kChar},
    {ACL_INT16, at::kShort},
    {ACL_INT32, at::kInt},
    {ACL_INT64, at::kLong},
    {ACL_UINT8, at::kByte},
    {ACL_UINT16, at::kUInt16},
    {ACL_UINT32, at::kUInt32},
    {ACL_UINT64, at::kUInt64},
    {ACL_BOOL, at::kBool},
    {ACL_COMPLEX32, at::kComplexHalf},
    {ACL_COMPLEX64, at::kComplexFloat},
    {ACL_COMPLEX128, at::kComplexDouble},
    {ACL_FLOAT8_E5M2, at::kFloat8_e5m2},
    {ACL_FLOAT8_E4M3FN, at::kFloat8_e4m3fn},
    {ACL_FLOAT8_E8M0, at::kFloat8_e8m0fnu},
};

}  // namespace

std::optional<at::ScalarType> toScalarType(aclDataType type) {
  for (const auto& pair : kTypes) {
    if (pair.acl == type) {
      return pair.torch;
    }
  }
  return std::nullopt;
}

std::optional<aclDataType> fromScalarType(at::ScalarType type) {
  for (const auto& pair : kTypes) {
    if (pair.torch == type) {
      return pair.acl;
    }
  }
  return std::nullopt;
}

int64_t TensorDesc::elements() const { return c10::multiply_integers(sizes()); }

int64_t TensorDesc::extent() const {
  int64_t last = offset;
  for (size_t i = 0; i < shape.size(); ++i) {
    const int64_t size = shape.size_at_unchecked(i);
    if (size == 0) {
      return 0;
    }
    last += (size - 1) * shape.stride_at_unchecked(i);
  }
  return last + 1;
}

bool TensorDesc::sameView(const TensorDesc& other) const {
  return data == other.data && offset == other.offset && dtype == other.dtype &&
         sizes() == other.sizes() && strides() == other.strides();
}

}  // namespace softcann::aclnn

using softcann::fail;
using softcann::aclnn::ObjectPool;

namespace {

// A float or double reads back as double, an integer as int64_t, as at::Scalar holds them.
std::optional<at::Scalar> readScalar(const void* value, aclDataType type) {
  const auto read = [value](auto example) {
    decltype(example) result;
    std::memcpy(&result, value, sizeof(result));
    return result;
  };
  const auto dtype = softcann::aclnn::toScalarType(type);
  if (!dtype) {
    return std::nullopt;
  }
  switch (*dtype) {
    case at::kFloat:
      return at::Scalar(read(float{}));
    case at::kDouble:
      return at::Scalar(read(double{}));
    case at::kHalf:
      return at::Scalar(read(at::Half{}));
    case at::kBFloat16:
      return at::Scalar(read(at::BFloat16{}));
    case at::kChar:
      return at::Scalar(read(int8_t{}));
    case at::kShort:
      return at::Scalar(read(int16_t{}));
    case at::kInt:
      return at::Scalar(read(int32_t{}));
    case at::kLong:
      return at::Scalar(read(int64_t{}));
    case at::kByte:
      return at::Scalar(read(uint8_t{}));
    case at::kUInt16:
      return at::Scalar(read(uint16_t{}));
    case at::kUInt32:
      return at::Scalar(read(uint32_t{}));
    case at::kUInt64:
      return at::Scalar(read(uint64_t{}));
    case at::kBool:
      return at::Scalar(read(uint8_t{}) != 0);
    case at::kComplexFloat:
      return at::Scalar(read(c10::complex<float>{}));
    case at::kComplexDouble:
      return at::Scalar(read(c10::complex<double>{}));
    default:
      return std::nullopt;
  }
}

template <class Array, class T>
Array* createArray(const char* function, const T* value, uint64_t size) {
  if (value == nullptr && size != 0) {
    fail(ACLNN_ERR_PARAM_NULLPTR, std::string(function) + ": value is null");
    return nullptr;
  }
  Array* array = ObjectPool<Array>::acquire();
  array->values.assign(value, value + size);
  return array;
}

template <class T>
aclnnStatus destroy(const char* function, const T* object) {
  if (object == nullptr) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, std::string(function) + ": argument is null");
  }
  ObjectPool<T>::release(const_cast<T*>(object));
  return ACLNN_SUCCESS;
}

aclnnStatus copyDims(const char* function, const void* tensor, const void* out, const void* num) {
  if (tensor == nullptr || out == nullptr || num == nullptr) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, std::string(function) + ": argument is null");
  }
  return ACLNN_SUCCESS;
}

template <class Source>
aclnnStatus giveDims(const char* function, const aclTensor* tensor, int64_t** dims, uint64_t* num,
                     Source source) {
  if (const aclnnStatus status = copyDims(function, tensor, dims, num); status != ACLNN_SUCCESS) {
    return status;
  }
  const at::IntArrayRef values = source(*tensor);
  *num = values.size();
  *dims = new int64_t[values.size()];
  std::copy(values.begin(), values.end(), *dims);
  return ACLNN_SUCCESS;
}

template <class Object, class T, class Source>
aclnnStatus give(const char* function, const Object* object, T* out, Source source) {
  if (object == nullptr || out == nullptr) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, std::string(function) + ": argument is null");
  }
  *out = source(*object);
  return ACLNN_SUCCESS;
}

}  // namespace

extern "C" {

aclTensor* aclCreateTensor(const int64_t* viewDims, uint64_t viewDimsNum, aclDataType dataType,
                           const int64_t* stride, int64_t offset, aclFormat format,
                           const int64_t* storageDims, uint64_t storageDimsNum, void* tensorData) {
  if ((viewDims == nullptr && viewDimsNum != 0) ||
      (storageDims == nullptr && storageDimsNum != 0)) {
    fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensor: dimensions are null");
    return nullptr;
  }
  const auto dtype = softcann::aclnn::toScalarType(dataType);
  if (!dtype) {
    fail(ACLNN_ERR_PARAM_INVALID,
         "aclCreateTensor: data type " + std::to_string(dataType) + " is not supported");
    return nullptr;
  }
  for (uint64_t i = 0; i < viewDimsNum; ++i) {
    if (viewDims[i] < 0) {
      fail(ACLNN_ERR_PARAM_INVALID, "aclCreateTensor: dimension " + std::to_string(i) + " is " +
                                        std::to_string(viewDims[i]));
      return nullptr;
    }
  }
  aclTensor* tensor = ObjectPool<aclTensor>::acquire();
  auto& desc = tensor->desc;
  desc.data = tensorData;
  desc.offset = offset;
  desc.dtype = *dtype;
  desc.shape.set_sizes({viewDims, viewDimsNum});
  if (stride != nullptr) {
    desc.shape.set_strides({stride, viewDimsNum});
  } else {
    int64_t step = 1;
    for (uint64_t i = viewDimsNum; i-- > 0;) {
      desc.shape.stride_at_unchecked(i) = step;
      step *= std::max<int64_t>(viewDims[i], 1);
    }
  }
  tensor->storage_dims.assign(storageDims, storageDims + storageDimsNum);
  tensor->format = format;
  return tensor;
}

aclScalar* aclCreateScalar(void* value, aclDataType dataType) {
  if (value == nullptr) {
    fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateScalar: value is null");
    return nullptr;
  }
  const auto scalar = readScalar(value, dataType);
  if (!scalar) {
    fail(ACLNN_ERR_PARAM_INVALID,
         "aclCreateScalar: data type " + std::to_string(dataType) + " is not supported");
    return nullptr;
  }
  aclScalar* result = ObjectPool<aclScalar>::acquire();
  result->value = *scalar;
  return result;
}

aclIntArray* aclCreateIntArray(const int64_t* value, uint64_t size) {
  return createArray<aclIntArray>("aclCreateIntArray", value, size);
}

aclFloatArray* aclCreateFloatArray(const float* value, uint64_t size) {
  return createArray<aclFloatArray>("aclCreateFloatArray", value, size);
}

aclBoolArray* aclCreateBoolArray(const bool* value, uint64_t size) {
  return createArray<aclBoolArray>("aclCreateBoolArray", value, size);
}

aclTensorList* aclCreateTensorList(const aclTensor* const* value, uint64_t size) {
  if (value == nullptr && size != 0) {
    fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateTensorList: value is null");
    return nullptr;
  }
  auto* list = ObjectPool<aclTensorList>::acquire();
  list->tensors.clear();
  for (uint64_t i = 0; i < size; ++i) {
    list->tensors.push_back(const_cast<aclTensor*>(value[i]));
  }
  return list;
}

aclScalarList* aclCreateScalarList(const aclScalar* const* value, uint64_t size) {
  if (value == nullptr && size != 0) {
    fail(ACLNN_ERR_PARAM_NULLPTR, "aclCreateScalarList: value is null");
    return nullptr;
  }
  auto* list = ObjectPool<aclScalarList>::acquire();
  list->scalars.clear();
  for (uint64_t i = 0; i < size; ++i) {
    list->scalars.push_back(const_cast<aclScalar*>(value[i]));
  }
  return list;
}

aclnnStatus aclDestroyTensor(const aclTensor* tensor) {
  return destroy("aclDestroyTensor", tensor);
}
aclnnStatus aclDestroyScalar(const aclScalar* scalar) {
  return destroy("aclDestroyScalar", scalar);
}
aclnnStatus aclDestroyIntArray(const aclIntArray* array) {
  return destroy("aclDestroyIntArray", array);
}
aclnnStatus aclDestroyFloatArray(const aclFloatArray* array) {
  return destroy("aclDestroyFloatArray", array);
}
aclnnStatus aclDestroyBoolArray(const aclBoolArray* array) {
  return destroy("aclDestroyBoolArray", array);
}

aclnnStatus aclDestroyTensorList(const aclTensorList* array) {
  if (array != nullptr) {
    for (aclTensor* tensor : array->tensors) {
      if (tensor != nullptr) {
        ObjectPool<aclTensor>::release(tensor);
      }
    }
  }
  return destroy("aclDestroyTensorList", array);
}

aclnnStatus aclDestroyScalarList(const aclScalarList* array) {
  if (array != nullptr) {
    for (aclScalar* scalar : array->scalars) {
      if (scalar != nullptr) {
        ObjectPool<aclScalar>::release(scalar);
      }
    }
  }
  return destroy("aclDestroyScalarList", array);
}

aclnnStatus aclGetViewShape(const aclTensor* tensor, int64_t** viewDims, uint64_t* viewDimsNum) {
  return giveDims("aclGetViewShape", tensor, viewDims, viewDimsNum,
                  [](const aclTensor& t) { return t.desc.sizes(); });
}

aclnnStatus aclGetStorageShape(const aclTensor* tensor, int64_t** storageDims,
                               uint64_t* storageDimsNum) {
  return giveDims("aclGetStorageShape", tensor, storageDims, storageDimsNum,
                  [](const aclTensor& t) { return at::IntArrayRef(t.storage_dims); });
}

aclnnStatus aclGetViewStrides(const aclTensor* tensor, int64_t** stridesValue,
                              uint64_t* stridesNum) {
  return giveDims("aclGetViewStrides", tensor, stridesValue, stridesNum,
                  [](const aclTensor& t) { return t.desc.strides(); });
}

aclnnStatus aclGetViewOffset(const aclTensor* tensor, int64_t* offset) {
  return give("aclGetViewOffset", tensor, offset, [](const aclTensor& t) { return t.desc.offset; });
}

aclnnStatus aclGetFormat(const aclTensor* tensor, aclFormat* format) {
  return give("aclGetFormat", tensor, format, [](const aclTensor& t) { return t.format; });
}

aclnnStatus aclGetDataType(const aclTensor* tensor, aclDataType* dataType) {
  return give("aclGetDataType", tensor, dataType, [](const aclTensor& t) {
    return softcann::aclnn::fromScalarType(t.desc.dtype).value_or(ACL_DT_UNDEFINED);
  });
}

aclnnStatus aclGetRawTensorAddr(const aclTensor* tensor, void** addr) {
  return give("aclGetRawTensorAddr", tensor, addr, [](const aclTensor& t) { return t.desc.data; });
}

aclnnStatus aclSetRawTensorAddr(aclTensor* tensor, void* addr) {
  if (tensor == nullptr) {
    return fail(ACLNN_ERR_PARAM_NULLPTR, "aclSetRawTensorAddr: tensor is null");
  }
  tensor->desc.data = addr;
  return ACLNN_SUCCESS;
}

aclnnStatus aclGetIntArraySize(const aclIntArray* array, uint64_t* size) {
  return give("aclGetIntArraySize", array, size, [](const auto& a) { return a.values.size(); });
}

aclnnStatus aclGetFloatArraySize(const aclFloatArray* array, uint64_t* size) {
  return give("aclGetFloatArraySize", array, size, [](const auto& a) { return a.values.size(); });
}

aclnnStatus aclGetBoolArraySize(const aclBoolArray* array, uint64_t* size) {
  return give("aclGetBoolArraySize", array, size, [](const auto& a) { return a.values.size(); });
}

aclnnStatus aclGetTensorListSize(const aclTensorList* tensorList, uint64_t* size) {
  return give("aclGetTensorListSize", tensorList, size,
              [](const auto& list) { return list.tensors.size(); });
}

aclnnStatus aclGetScalarListSize(const aclScalarList* scalarList, uint64_t* size) {
  return give("aclGetScalarListSize", scalarList, size,
              [](const auto& list) { return list.scalars.size(); });
}

}  // extern "C"
