// The kinds of parameters that aclnn functions have: how phase one captures each and how the
// kernel sees it. The generator wraps every C parameter in one of these.
//
// A kind has: a constructor from the C parameter; Stored, what the executor keeps; capture(),
// false if a required pointer is null, which throws at a value that Stored cannot hold; and lend(),
// the kernel's argument.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aclnn/core/descriptors.h"
#include "aclnn/core/frame.h"

namespace softcann::aclnn {

struct Tensor {
  const aclTensor* handle;
  using Stored = TensorDesc;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored = handle->desc;
    return true;
  }
  static const at::Tensor& lend(const Stored& stored, Frame& frame) { return frame.lend(stored); }
};

struct OptionalTensor {
  const aclTensor* handle;
  using Stored = std::optional<TensorDesc>;
  bool capture(Stored& stored) const {
    if (handle != nullptr) stored = handle->desc;
    return true;
  }
  static std::optional<at::Tensor> lend(const Stored& stored, Frame& frame) {
    return stored ? std::optional<at::Tensor>(frame.lend(*stored)) : std::nullopt;
  }
};

struct WrittenTensor {
  const aclTensor* handle;
  using Stored = TensorDesc;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored = handle->desc;
    return true;
  }
  static at::Tensor& lend(const Stored& stored, Frame& frame) { return frame.lendWritten(stored); }
};

// An output that the caller may leave out; the kernel sees an undefined tensor then.
struct OptionalWrittenTensor {
  const aclTensor* handle;
  using Stored = std::optional<TensorDesc>;
  bool capture(Stored& stored) const {
    if (handle != nullptr) stored = handle->desc;
    return true;
  }
  static at::Tensor lend(const Stored& stored, Frame& frame) {
    return stored ? frame.lendWritten(*stored) : at::Tensor();
  }
};

// An output whose shape depends on the data. The caller gives the largest possible tensor and,
// after synchronising, reads the true shape with aclGetViewShape(); it keeps the descriptor alive
// until then.
struct ResizedTensor {
  aclTensor* handle;
  struct Stored {
    TensorDesc desc;
    aclTensor* handle = nullptr;
  };
  class Lent {
   public:
    Lent(at::Tensor& tensor, aclTensor* handle) : tensor_(tensor), handle_(handle) {}
    // Stores `value`, which may be smaller than the tensor the caller gave, from its start on.
    void assign(const at::Tensor& value);

   private:
    at::Tensor& tensor_;
    aclTensor* handle_;
  };
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored.desc = handle->desc;
    stored.handle = handle;
    return true;
  }
  static Lent lend(const Stored& stored, Frame& frame) {
    return Lent(frame.lendWritten(stored.desc), frame.isTrial() ? nullptr : stored.handle);
  }
};

template <bool kWritten>
struct TensorListOf {
  const aclTensorList* handle;
  using Stored = std::vector<TensorDesc>;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored.reserve(handle->tensors.size());
    for (const aclTensor* tensor : handle->tensors) {
      if (tensor == nullptr) return false;
      stored.push_back(tensor->desc);
    }
    return true;
  }
  static std::vector<at::Tensor> lend(const Stored& stored, Frame& frame) {
    std::vector<at::Tensor> tensors;
    tensors.reserve(stored.size());
    for (const TensorDesc& desc : stored) {
      tensors.push_back(kWritten ? frame.lendWritten(desc) : frame.lend(desc));
    }
    return tensors;
  }
};
using TensorList = TensorListOf<false>;
using WrittenTensorList = TensorListOf<true>;

// A list that may be null (seen as empty).
struct OptionalTensorList {
  const aclTensorList* handle;
  using Stored = std::vector<TensorDesc>;
  bool capture(Stored& stored) const {
    return handle == nullptr || TensorList{handle}.capture(stored);
  }
  static std::vector<at::Tensor> lend(const Stored& stored, Frame& frame) {
    return TensorList::lend(stored, frame);
  }
};

struct OptionalWrittenTensorList {
  const aclTensorList* handle;
  using Stored = std::vector<TensorDesc>;
  bool capture(Stored& stored) const {
    return handle == nullptr || WrittenTensorList{handle}.capture(stored);
  }
  static std::vector<at::Tensor> lend(const Stored& stored, Frame& frame) {
    return WrittenTensorList::lend(stored, frame);
  }
};

// A list with holes: a null element is a missing tensor.
struct TensorListWithHoles {
  const aclTensorList* handle;
  using Stored = std::vector<std::optional<TensorDesc>>;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    for (const aclTensor* tensor : handle->tensors) {
      stored.push_back(tensor != nullptr ? std::optional<TensorDesc>(tensor->desc) : std::nullopt);
    }
    return true;
  }
  static c10::List<std::optional<at::Tensor>> lend(const Stored& stored, Frame& frame) {
    c10::List<std::optional<at::Tensor>> tensors;
    tensors.reserve(stored.size());
    for (const auto& desc : stored) {
      tensors.push_back(desc ? std::optional<at::Tensor>(frame.lend(*desc)) : std::nullopt);
    }
    return tensors;
  }
};

struct Scalar {
  const aclScalar* handle;
  using Stored = at::Scalar;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored = handle->value;
    return true;
  }
  static const at::Scalar& lend(const Stored& stored, Frame&) { return stored; }
};

struct OptionalScalar {
  const aclScalar* handle;
  using Stored = std::optional<at::Scalar>;
  bool capture(Stored& stored) const {
    if (handle != nullptr) stored = handle->value;
    return true;
  }
  static const Stored& lend(const Stored& stored, Frame&) { return stored; }
};

// A number that may be missing, as a scalar that may be null.
template <class T>
struct OptionalNumber {
  const aclScalar* handle;
  using Stored = std::optional<T>;
  bool capture(Stored& stored) const {
    if (handle != nullptr) stored = handle->value.to<T>();
    return true;
  }
  static Stored lend(const Stored& stored, Frame&) { return stored; }
};

struct ScalarList {
  const aclScalarList* handle;
  using Stored = std::vector<at::Scalar>;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    for (const aclScalar* scalar : handle->scalars) {
      if (scalar == nullptr) return false;
      stored.push_back(scalar->value);
    }
    return true;
  }
  static at::ArrayRef<at::Scalar> lend(const Stored& stored, Frame&) { return stored; }
};

struct IntArray {
  const aclIntArray* handle;
  using Stored = c10::SmallVector<int64_t, 8>;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored = handle->values;
    return true;
  }
  static at::IntArrayRef lend(const Stored& stored, Frame&) { return stored; }
};

struct OptionalIntArray {
  const aclIntArray* handle;
  using Stored = std::optional<c10::SmallVector<int64_t, 8>>;
  bool capture(Stored& stored) const {
    if (handle != nullptr) stored = handle->values;
    return true;
  }
  static at::OptionalIntArrayRef lend(const Stored& stored, Frame&) {
    return stored ? at::OptionalIntArrayRef(at::IntArrayRef(*stored)) : std::nullopt;
  }
};

struct FloatArray {
  const aclFloatArray* handle;
  using Stored = std::vector<float>;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored = handle->values;
    return true;
  }
  static at::ArrayRef<float> lend(const Stored& stored, Frame&) { return stored; }
};

struct BoolArray {
  const aclBoolArray* handle;
  using Stored = c10::SmallVector<bool, 8>;
  bool capture(Stored& stored) const {
    if (handle == nullptr) return false;
    stored = handle->values;
    return true;
  }
  static at::ArrayRef<bool> lend(const Stored& stored, Frame&) { return stored; }
};

// An array that may be null (seen as empty).
struct OptionalBoolArray {
  const aclBoolArray* handle;
  using Stored = c10::SmallVector<bool, 8>;
  bool capture(Stored& stored) const {
    if (handle != nullptr) stored = handle->values;
    return true;
  }
  static at::ArrayRef<bool> lend(const Stored& stored, Frame&) { return stored; }
};

struct DataType {
  aclDataType value;
  using Stored = at::ScalarType;
  bool capture(Stored& stored) const {
    const auto type = toScalarType(value);
    if (!type) return false;
    stored = *type;
    return true;
  }
  static at::ScalarType lend(const Stored& stored, Frame&) { return stored; }
};

// ACL_DT_UNDEFINED is a missing type.
struct OptionalDataType {
  aclDataType value;
  using Stored = std::optional<at::ScalarType>;
  bool capture(Stored& stored) const {
    if (value != ACL_DT_UNDEFINED) stored = toScalarType(value);
    return value == ACL_DT_UNDEFINED || stored.has_value();
  }
  static Stored lend(const Stored& stored, Frame&) { return stored; }
};

// A string may be null: the kernel sees an empty one.
struct String {
  const char* value;
  using Stored = std::string;
  bool capture(Stored& stored) const {
    if (value != nullptr) stored = value;
    return true;
  }
  static std::string_view lend(const Stored& stored, Frame&) { return stored; }
};

struct OptionalString {
  const char* value;
  using Stored = std::optional<std::string>;
  bool capture(Stored& stored) const {
    if (value != nullptr) stored = value;
    return true;
  }
  static std::optional<std::string_view> lend(const Stored& stored, Frame&) { return stored; }
};

template <class T>
struct Value {
  T value;
  using Stored = T;
  bool capture(Stored& stored) const {
    stored = value;
    return true;
  }
  static T lend(const Stored& stored, Frame&) { return stored; }
};

// How many elements `mask` must have is the kernel's knowledge, not the caller's.
template <size_t N>
std::array<bool, N> toMask(at::ArrayRef<bool> mask) {
  TORCH_CHECK(mask.size() == N, "expected ", N, " flags, got ", mask.size());
  std::array<bool, N> result;
  std::copy(mask.begin(), mask.end(), result.begin());
  return result;
}

}  // namespace softcann::aclnn
