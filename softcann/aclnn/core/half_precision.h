// Half precision computed in float32.
//
// Note [Half precision]
// A CPU without units for float16 or bfloat16 multiplies such matrices at about a hundredth of
// float32's rate with PyTorch's own kernels. Rows of the operator table whose kernels are slower
// than converting say so (`half:`): the frame then lends their half-precision tensors as float32
// copies, the kernel runs once in float32, and what it has written is rounded once. That is also
// how a card's cube unit computes: it accumulates products in float32. Where the CPU has the units,
// and for calls whose copies would pass kMaxConvertedBytes, the kernel gets the tensors as they
// are; kernels of products then convert by tiles (kernels/product.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aclnn/core/descriptors.h"
#include "aclnn/core/executor.h"
#include "aclnn/core/parameters.h"

namespace softcann::aclnn {

// The most that one operator's float32 copies may take.
constexpr int64_t kMaxConvertedBytes = int64_t{256} << 20;
// The most that a worker keeps of them for its next operators.
constexpr int64_t kKeptConvertedBytes = int64_t{64} << 20;

// Whether a view reaches over much more memory than it has elements, so that its copy is gathered.
inline bool isScattered(const TensorDesc& desc) {
  return desc.extent() - desc.offset > 2 * desc.elements();
}
// How many elements the float32 copy of a tensor takes.
inline int64_t convertedElements(const TensorDesc& desc) {
  if (desc.isEmpty()) return 0;
  return isScattered(desc) ? desc.elements() : desc.extent() - desc.offset;
}

// Whether kernels run faster on float32 copies of tensors of this type: true for float16 and
// bfloat16 where the CPU has no units for them. SOFTCANN_HALF_PRECISION decides otherwise.
bool convertsHalf(at::ScalarType type);

// Whether a call's tensors are to be converted.
class HalfUse {
 public:
  bool converts(Half rule) const {
    return type_.has_value() && !different_ && (!wide_ || rule == Half::kMixed) &&
           (*type_ == at::kHalf || rule != Half::kFloat16) && bytes_ <= kMaxConvertedBytes &&
           convertsHalf(*type_);
  }

  void add(const TensorDesc& desc) {
    if (!at::isReducedFloatingType(desc.dtype)) {
      wide_ = wide_ || at::isFloatingType(desc.dtype) || at::isComplexType(desc.dtype);
      return;
    }
    different_ = different_ || (type_.has_value() && *type_ != desc.dtype);
    type_ = desc.dtype;
    bytes_ += convertedElements(desc) * int64_t{sizeof(float)};
  }
  void add(const ResizedTensor::Stored& stored) { add(stored.desc); }
  template <class T>
  void add(const std::optional<T>& value) {
    if (value.has_value()) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    for (const T& value : values) add(value);
  }
  template <class T>
  void add(const T& /*number*/) {}

 private:
  std::optional<at::ScalarType> type_;
  bool different_ = false;
  bool wide_ = false;
  int64_t bytes_ = 0;
};

}  // namespace softcann::aclnn
