// The objects behind acl_meta.h's opaque handles. The handle is the object.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/SmallVector.h>

#include <optional>
#include <string>
#include <vector>

#include "aclnn/acl_meta.h"

namespace softcann::aclnn {

// Most tensors have few dimensions; more than eight move to the heap.
using Dims = c10::SmallVector<int64_t, 8>;

// What a kernel needs to see a tensor: where its storage begins and how to walk it.
struct TensorDesc {
  void* data = nullptr;  // device address of the storage's first element
  int64_t offset = 0;    // elements from there to the view's first element
  at::ScalarType dtype = at::ScalarType::Float;
  Dims sizes;
  Dims strides;

  int64_t elements() const;
  // Elements of storage that the view reaches, counted from `data`.
  int64_t extent() const;
  bool sameView(const TensorDesc& other) const;
};

std::optional<at::ScalarType> toScalarType(aclDataType type);
std::optional<aclDataType> fromScalarType(at::ScalarType type);

// Thread-local reuse of descriptor objects: creating one is a pop, destroying it a push.
template <class T>
class ObjectPool {
 public:
  static T* acquire() {
    auto& free = cache().objects;
    if (free.empty()) {
      return new T();
    }
    T* object = free.back();
    free.pop_back();
    return object;
  }
  static void release(T* object) {
    auto& free = cache().objects;
    if (free.size() < kLimit) {
      free.push_back(object);
    } else {
      delete object;
    }
  }

 private:
  static constexpr size_t kLimit = 512;
  struct Cache {
    std::vector<T*> objects;
    ~Cache() {
      for (T* object : objects) {
        delete object;
      }
    }
  };
  static Cache& cache() {
    thread_local Cache cache;
    return cache;
  }
};

}  // namespace softcann::aclnn

struct aclTensor {
  softcann::aclnn::TensorDesc desc;
  softcann::aclnn::Dims storage_dims;
  aclFormat format = ACL_FORMAT_ND;
};

struct aclScalar {
  at::Scalar value;
};

struct aclIntArray {
  c10::SmallVector<int64_t, 8> values;
};

struct aclFloatArray {
  std::vector<float> values;
};

struct aclBoolArray {
  c10::SmallVector<bool, 8> values;
};

struct aclTensorList {
  std::vector<aclTensor*> tensors;
};

struct aclScalarList {
  std::vector<aclScalar*> scalars;
};
