// A call's signature: everything that phase one's check depends on (dtypes, shapes, strides,
// scalars), and nothing that it does not (addresses), as one hash. A call whose signature has
// passed the check before need not be checked again.
#pragma once

#include <c10/core/Scalar.h>

#include <algorithm>
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
  explicit Signature(const void* function) { add(reinterpret_cast<uint64_t>(function)); }

  uint64_t value() const { return hash_; }

  void add(uint64_t word) {
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
    add((static_cast<uint64_t>(desc.dtype) << 8) | desc.sizes().size());
    for (size_t i = 0; i < desc.sizes().size(); ++i) {
      add(desc.sizes()[i]);
      add(desc.strides()[i]);
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
  uint64_t hash_ = 0;
};

// The part of a signature that decides which code of a kernel runs: the tensors' dtypes, numbers of
// dimensions and whether they have elements, and the scalars' types. Programs meet few of them, and
// each is cheap to hash.
class TypeSignature {
 public:
  explicit TypeSignature(const void* function)
      : hash_(reinterpret_cast<uint64_t>(function) * kFactor) {}

  uint64_t value() const { return hash_ ^ (hash_ >> 32); }

  void add(const TensorDesc& desc) {
    fold((static_cast<uint64_t>(desc.isEmpty()) << 16) | (static_cast<uint64_t>(desc.dtype) << 8) |
         desc.sizes().size());
  }
  void add(const ResizedTensor::Stored& stored) { add(stored.desc); }
  void add(const at::Scalar& scalar) { fold(static_cast<uint64_t>(scalar.type())); }
  void add(at::ScalarType type) { fold(static_cast<uint64_t>(type)); }
  template <class T>
  void add(const std::optional<T>& value) {
    fold(value.has_value());
    if (value.has_value()) add(*value);
  }
  template <class T>
  void add(const std::vector<T>& values) {
    fold(values.size());
    for (const T& value : values) add(value);
  }
  template <class T>
  void add(const T& /*number*/) {}

 private:
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15ULL;

  void fold(uint64_t word) { hash_ = (hash_ ^ word) * kFactor; }

  uint64_t hash_;
};

// How many elements a call's tensors have, or reach in their storage if that is more.
class CallSize {
 public:
  int64_t elements() const { return elements_; }

  void add(const TensorDesc& desc) { elements_ += std::max(desc.elements(), desc.extent()); }
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
  int64_t elements_ = 0;
};

}  // namespace softcann::aclnn
