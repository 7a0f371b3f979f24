// Small things that kernels in the operator table share.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <optional>
#include <string_view>

namespace softcann::aclnn {

// A scalar as a tensor that takes part in type promotion as a number does.
at::Tensor wrapped(const at::Scalar& scalar);

// CANN's number for a division's rounding: 0 none, 1 towards zero, 2 towards minus infinity.
std::optional<std::string_view> roundingMode(int64_t mode);

// An array of no or one element as an optional number.
std::optional<int64_t> optionalDim(at::IntArrayRef dim);

// A pooling divisor of 0 means none.
std::optional<int64_t> optionalDivisor(int64_t divisor);

// softmax(self) along dim in out's dtype.
void softmaxInto(at::Tensor& out, const at::Tensor& self, int64_t dim);
void logSoftmaxInto(at::Tensor& out, const at::Tensor& self, int64_t dim);

// scatter with CANN's number for the reduction: 0 none, 1 add, 2 multiply.
void scatterInto(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                 const at::Tensor& src, int64_t reduce);
void scatterInto(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                 const at::Scalar& value, int64_t reduce);

// Writes `value` to `out`, if the caller wants that output.
inline void give(const at::Tensor& out, const at::Tensor& value) {
  if (out.defined()) {
    out.copy_(value);
  }
}

}  // namespace softcann::aclnn
