// Operators on lists of tensors.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/pow.h>

#include <vector>

namespace softcann::aclnn {

inline void checkLengths(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& out) {
  TORCH_CHECK(from.size() == out.size(), "the lists have ", from.size(), " and ", out.size(),
              " tensors");
}

// Copies each tensor of `from` to its output; an output that is the input itself is left alone.
inline void copyEach(const std::vector<at::Tensor>& from, const std::vector<at::Tensor>& out) {
  checkLengths(from, out);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i].data_ptr() != out[i].data_ptr() || from[i].scalar_type() != out[i].scalar_type()) {
      out[i].copy_(from[i]);
    }
  }
}

inline void absEach(const std::vector<at::Tensor>& from, std::vector<at::Tensor>& out) {
  checkLengths(from, out);
  for (size_t i = 0; i < from.size(); ++i) {
    at::abs_out(out[i], from[i]);
  }
}

inline void normEach(const std::vector<at::Tensor>& from, const at::Scalar& ord,
                     std::vector<at::Tensor>& out) {
  checkLengths(from, out);
  for (size_t i = 0; i < from.size(); ++i) {
    const at::ScalarType type = out[i].scalar_type();
    at::linalg_vector_norm_out(out[i], from[i], ord, at::OptionalIntArrayRef{}, false,
                               from[i].is_complex() ? c10::toComplexType(type) : type);
  }
}

inline void powEach(const at::Scalar& base, const std::vector<at::Tensor>& exponents,
                    std::vector<at::Tensor>& out) {
  checkLengths(exponents, out);
  for (size_t i = 0; i < exponents.size(); ++i) {
    at::pow_out(out[i], base, exponents[i]);
  }
}

}  // namespace softcann::aclnn
