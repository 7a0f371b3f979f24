// A call's signature: everything that phase one's check depends on (dtypes, shapes, strides,
// scalars), and nothing that it does not (addresses), as one hash. A call whose signature has
// passed the check before need not be checked again.
#pragma once

#include <c10/core/Scalar.h>

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aclnn/core/descriptors.h"
#include "aclnn/core/parameters.h"

namespace softcann::aclnn {

class Signature {
 public:
  // A call that is not going to be checked needs no hash.
  Signature(const void* function, bool hashed) : hashed_(hashed) {
    add(reinterpret_cast<uint64_t>(function));
  }

  uint64_t value() const { return hash_; }

  void add(uint64_t word) {
    if (!hashed_) return;
    hash_ = (hash_ ^ word) * 0x9e3779b97f4a7c15ULL;
    hash_ ^= hash_ >> 29;
  }
  void add(int64_t number) { add(static_cast<uint64_t>(number)); }
  void add(int32_t number) { add(static_cast<uint64_t>(number)); }
  void add(int8_t number) { add(static_cast<uint64_t>(number)); }
  void add(bool flag) { add(static_cast<uint64_t>(flag)); }
  void add(double number) { add(std::bit_cast<uint64_t>(number)); }
  void add(float number) { add(static_cast<double>(number)); }
  void add(at::ScalarType type) { add(static_cast<uint64_t>(type)); }

  void add(const TensorDesc& desc) {
    if (!hashed_) return;
    add((static_cast<uint64_t>(desc.dtype) << 8) | desc.sizes.size());
    for (size_t i = 0; i < desc.sizes.size(); ++i) {
      add(desc.sizes[i]);
      add(desc.strides[i]);
    }
  }
  void add(const ResizedTensor::Stored& stored) { add(stored.desc); }

  void add(const at::Scalar& scalar) {
    add(static_cast<uint64_t>(scalar.type()));
    if (scalar.isComplex()) {
      const auto number = scalar.toComplexDouble();
      add(number.real());
      add(number.imag());
    } else if (scalar.isFloatingPoint()) {
      add(scalar.toDouble());
    } else {
      add(scalar.isBoolean() ? static_cast<int64_t>(scalar.toBool())
                             : static_cast<int64_t>(scalar.to<int64_t>()));
    }
  }

  void add(const std::string& text) { add(static_cast<uint64_t>(std::hash<std::string>()(text))); }

  template <class T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value.has_value()) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(static_cast<uint64_t>(values.size()));
    for (const T& value : values) add(value);
  }
  template <class T, unsigned N>
  void add(const c10::SmallVector<T, N>& values) {
    add(static_cast<uint64_t>(values.size()));
    for (const T& value : values) add(value);
  }

 private:
  const bool hashed_;
  uint64_t hash_ = 0;
};

}  // namespace softcann::aclnn
