// Products of few rows with a large matrix of half precision, as generation computes for each
// token. What they cost is reading the matrix once: its elements are converted in registers.
#pragma once

#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// The most rows that are few.
constexpr int64_t kMostThinRows = 8;

// The product of thin (rows, inner) in float32 and wide (inner, columns) in float16 or bfloat16, as
// a new float32 tensor (rows, columns). Undefined where this way does not pay or the CPU lacks the
// instructions: then convert `wide` first.
at::Tensor thinProduct(const at::Tensor& thin, const at::Tensor& wide);

}  // namespace softcann::aclnn
