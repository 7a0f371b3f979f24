// ATen values as the descriptors that aclnn functions take.
//
// Each converted value owns its descriptor and destroys it at the end of the call: an aclnn
// function has copied what it needs by then. `CType` is the C parameter's type.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "aclnn/acl_meta.h"

namespace torch_npu {

// The functions of CANN's operator library that make and destroy descriptors, bound once.
struct DescriptorApi {
  decltype(&::aclCreateTensor) aclCreateTensor;
  decltype(&::aclCreateScalar) aclCreateScalar;
  decltype(&::aclCreateIntArray) aclCreateIntArray;
  decltype(&::aclCreateFloatArray) aclCreateFloatArray;
  decltype(&::aclCreateBoolArray) aclCreateBoolArray;
  decltype(&::aclCreateTensorList) aclCreateTensorList;
  decltype(&::aclCreateScalarList) aclCreateScalarList;
  decltype(&::aclDestroyTensor) aclDestroyTensor;
  decltype(&::aclDestroyScalar) aclDestroyScalar;
  decltype(&::aclDestroyIntArray) aclDestroyIntArray;
  decltype(&::aclDestroyFloatArray) aclDestroyFloatArray;
  decltype(&::aclDestroyBoolArray) aclDestroyBoolArray;
  decltype(&::aclDestroyTensorList) aclDestroyTensorList;
  decltype(&::aclDestroyScalarList) aclDestroyScalarList;
  decltype(&::aclGetViewShape) aclGetViewShape;
};

namespace detail {
extern const DescriptorApi* bound_descriptor_api;
const DescriptorApi& bindDescriptorApi();
}  // namespace detail

inline const DescriptorApi& descriptorApi() {
  const DescriptorApi* bound = __atomic_load_n(&detail::bound_descriptor_api, __ATOMIC_ACQUIRE);
  return C10_LIKELY(bound != nullptr) ? *bound : detail::bindDescriptorApi();
}

// Throws for a dtype that no aclDataType stands for (quantised dtypes, bits).
aclDataType toAclType(at::ScalarType type);

// What a launch knows of its device; found from its tensors (launch.h).
struct LaunchDevice {
  c10::DeviceIndex index = -1;
};

aclTensor* createTensor(const at::Tensor& tensor);
aclScalar* createScalar(const at::Scalar& scalar);

// A descriptor knows device memory and strides only. A CPU scalar, and a tensor whose conjugation
// or negation is still to be done (some ATen operators take such tensors as they are), go to CANN
// as a copy. Written tensors are never such: see checkWritable().
inline bool needsPlainCopy(const at::Tensor& tensor) {
  return tensor.device().is_cpu() || tensor.is_conj() || tensor.is_neg();
}
at::Tensor plainCopy(const at::Tensor& tensor, c10::DeviceIndex device);

// A descriptor that one call has made.
template <class Object, aclnnStatus (*DescriptorApi::*kDestroy)(const Object*)>
class OwnedDescriptor {
 public:
  using CType = const Object*;
  explicit OwnedDescriptor(Object* handle) : handle_(handle) {}
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  ~OwnedDescriptor() {
    if (handle_ != nullptr) (descriptorApi().*kDestroy)(handle_);
  }
  CType get() const { return handle_; }

 protected:
  Object* handle_;
};

class ConvertedTensor : public OwnedDescriptor<aclTensor, &DescriptorApi::aclDestroyTensor> {
 public:
  ConvertedTensor(const at::Tensor& tensor, LaunchDevice device) : OwnedDescriptor(nullptr) {
    if (!tensor.defined()) {
      return;
    }
    if (C10_UNLIKELY(needsPlainCopy(tensor))) {
      plain_ = plainCopy(tensor, device.index);
      handle_ = createTensor(plain_);
    } else {
      handle_ = createTensor(tensor);
    }
  }

 private:
  at::Tensor plain_;
};

class ConvertedScalar : public OwnedDescriptor<aclScalar, &DescriptorApi::aclDestroyScalar> {
 public:
  ConvertedScalar(const at::Scalar& scalar, LaunchDevice) : OwnedDescriptor(createScalar(scalar)) {}
  ConvertedScalar(const std::optional<at::Scalar>& scalar, LaunchDevice)
      : OwnedDescriptor(scalar ? createScalar(*scalar) : nullptr) {}
};

class ConvertedIntArray : public OwnedDescriptor<aclIntArray, &DescriptorApi::aclDestroyIntArray> {
 public:
  ConvertedIntArray(at::OptionalIntArrayRef values, LaunchDevice)
      : OwnedDescriptor(values ? descriptorApi().aclCreateIntArray(values->data(), values->size())
                               : nullptr) {}
};

class ConvertedBoolArray
    : public OwnedDescriptor<aclBoolArray, &DescriptorApi::aclDestroyBoolArray> {
 public:
  ConvertedBoolArray(at::ArrayRef<bool> values, LaunchDevice)
      : OwnedDescriptor(descriptorApi().aclCreateBoolArray(values.data(), values.size())) {}
};

// A list owns its elements' descriptors; missing elements are null.
class ConvertedTensorList
    : public OwnedDescriptor<aclTensorList, &DescriptorApi::aclDestroyTensorList> {
 public:
  ConvertedTensorList(at::TensorList tensors, LaunchDevice device);
  ConvertedTensorList(const std::vector<at::Tensor>& tensors, LaunchDevice device)
      : ConvertedTensorList(at::TensorList(tensors), device) {}
  ConvertedTensorList(const at::ITensorListRef& tensors, LaunchDevice device);
  ConvertedTensorList(const c10::List<std::optional<at::Tensor>>& tensors, LaunchDevice device);

 private:
  struct Elements {};
  template <class Tensors>
  ConvertedTensorList(const Tensors& tensors, LaunchDevice device, Elements);
  aclTensor* element(const at::Tensor& tensor, LaunchDevice device);

  std::vector<at::Tensor> plain_;
};

class ConvertedScalarList
    : public OwnedDescriptor<aclScalarList, &DescriptorApi::aclDestroyScalarList> {
 public:
  ConvertedScalarList(at::ArrayRef<at::Scalar> scalars, LaunchDevice);
};

class ConvertedString {
 public:
  using CType = const char*;
  ConvertedString(std::string_view text, LaunchDevice) : text_(text) {}
  ConvertedString(const std::optional<std::string_view>& text, LaunchDevice) : text_(text) {}
  CType get() const { return text_ ? text_->c_str() : nullptr; }

 private:
  std::optional<std::string> text_;
};

class ConvertedType {
 public:
  using CType = aclDataType;
  ConvertedType(at::ScalarType type, LaunchDevice) : type_(toAclType(type)) {}
  ConvertedType(std::optional<at::ScalarType> type, LaunchDevice)
      : type_(type ? toAclType(*type) : ACL_DT_UNDEFINED) {}
  CType get() const { return type_; }

 private:
  aclDataType type_;
};

template <class T>
class ConvertedValue {
 public:
  using CType = T;
  ConvertedValue(T value, LaunchDevice) : value_(value) {}
  CType get() const { return value_; }

 private:
  T value_;
};

// Which of the above stands for an ATen type.
template <class T>
struct ConversionOf {
  static_assert(std::is_arithmetic_v<T>, "no aclnn parameter takes this type");
  using type = ConvertedValue<T>;
};
template <>
struct ConversionOf<at::Tensor> {
  using type = ConvertedTensor;
};
template <>
struct ConversionOf<std::optional<at::Tensor>> {
  using type = ConvertedTensor;
};
template <>
struct ConversionOf<at::Scalar> {
  using type = ConvertedScalar;
};
template <>
struct ConversionOf<std::optional<at::Scalar>> {
  using type = ConvertedScalar;
};
template <>
struct ConversionOf<at::IntArrayRef> {
  using type = ConvertedIntArray;
};
template <>
struct ConversionOf<std::vector<int64_t>> {
  using type = ConvertedIntArray;
};
template <>
struct ConversionOf<at::OptionalIntArrayRef> {
  using type = ConvertedIntArray;
};
template <>
struct ConversionOf<at::ArrayRef<bool>> {
  using type = ConvertedBoolArray;
};
template <size_t N>
struct ConversionOf<std::array<bool, N>> {
  using type = ConvertedBoolArray;
};
template <>
struct ConversionOf<at::TensorList> {
  using type = ConvertedTensorList;
};
template <>
struct ConversionOf<std::vector<at::Tensor>> {
  using type = ConvertedTensorList;
};
template <>
struct ConversionOf<at::ITensorListRef> {
  using type = ConvertedTensorList;
};
template <>
struct ConversionOf<c10::List<std::optional<at::Tensor>>> {
  using type = ConvertedTensorList;
};
template <>
struct ConversionOf<at::ArrayRef<at::Scalar>> {
  using type = ConvertedScalarList;
};
template <>
struct ConversionOf<std::vector<at::Scalar>> {
  using type = ConvertedScalarList;
};
template <>
struct ConversionOf<std::string_view> {
  using type = ConvertedString;
};
template <>
struct ConversionOf<std::optional<std::string_view>> {
  using type = ConvertedString;
};
template <>
struct ConversionOf<const char*> {
  using type = ConvertedString;
};
template <>
struct ConversionOf<at::ScalarType> {
  using type = ConvertedType;
};
template <>
struct ConversionOf<std::optional<at::ScalarType>> {
  using type = ConvertedType;
};

template <class T>
using Converted = typename ConversionOf<std::decay_t<T>>::type;

// An argument as its converter's constructor takes it: a missing optional tensor is undefined.
template <class T>
const T& asArgument(const T& value) {
  return value;
}
inline const at::Tensor& asArgument(const std::optional<at::Tensor>& tensor) {
  static const at::Tensor undefined;
  return tensor ? *tensor : undefined;
}

}  // namespace torch_npu
