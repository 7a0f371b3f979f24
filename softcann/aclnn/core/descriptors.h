// The objects behind acl_meta.h's opaque handles. The handle is the object.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/core/impl/SizesAndStrides.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aclnn/acl_meta.h"

namespace softcann::aclnn {

// What a kernel needs to see a tensor: where its storage begins and how to walk it. Each call
// copies some from the caller's thread to the worker's, so they are small: two cache lines.
struct TensorDesc {
  void* data = nullptr;  // device address of the storage's first element
  int64_t offset = 0;    // elements from there to the view's first element
  at::ScalarType dtype = at::ScalarType::Float;
  c10::impl::SizesAndStrides shape;

  at::IntArrayRef sizes() const { return shape.sizes_arrayref(); }
  at::IntArrayRef strides() const { return shape.strides_arrayref(); }
  int64_t elements() const;
  bool isEmpty() const {
    const at::IntArrayRef all = sizes();
    return std::find(all.begin(), all.end(), 0) != all.end();
  }
  // Elements of storage that the view reaches, counted from `data`.
  int64_t extent() const;
  bool sameView(const TensorDesc& other) const;
};

std::optional<at::ScalarType> toScalarType(aclDataType type);
std::optional<aclDataType> fromScalarType(at::ScalarType type);

// Thread-local reuse of descriptor objects: creating one is a pop, destroying it a push. What both
// touch needs no construction and no destruction, because a thread-local object that does is looked
// up twice at each access.
template <class T>
class ObjectPool {
 public:
  static T* acquire() {
    Free& free = free_;
    return free.count == 0 ? new T() : free.objects[--free.count];
  }
  static void release(T* object) {
    Free& free = free_;
    if (free.count < free.room) {
      free.objects[free.count++] = object;
    } else {
      releaseWithoutRoom(object);
    }
  }

 private:
  static constexpr size_t kLimit = 512;
  struct Free {
    T** objects;
    size_t count;
    size_t room;  // 0 before the first release and after the thread's end
  };
  // Deletes at the thread's end what is free then.
  struct Owner {
    Owner() { free_ = {new T*[kLimit], 0, kLimit}; }
    ~Owner() {
      const Free free = std::exchange(free_, {});
      for (size_t i = 0; i < free.count; ++i) {
        delete free.objects[i];
      }
      delete[] free.objects;
    }
  };

  static void releaseWithoutRoom(T* object) {
    thread_local bool opened = false;
    if (opened) {
      delete object;
      return;
    }
    opened = true;
    thread_local Owner owner;
    release(object);
  }

  static inline constinit thread_local Free free_ = {};
};

}  // namespace softcann::aclnn

struct aclTensor {
  softcann::aclnn::TensorDesc desc;
  c10::SmallVector<int64_t, 8> storage_dims;
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
