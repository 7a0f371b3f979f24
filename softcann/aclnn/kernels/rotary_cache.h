// Rotary position embedding of queries and keys together.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace softcann::aclnn {

// x in place, of which the first elements of the last dimension turn, as many as cos has.
void applyRotary(at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin,
                 std::string_view mode);

struct CachedRotation {
  const at::Tensor& positions;  // (tokens), or (sections, tokens)
  const at::Tensor& cache;      // (positions, size): cosines, then sines, half of the size each
  at::IntArrayRef sections;     // how many of the pairs take their position from which row
  int64_t head_size;
  bool halves;  // pairs are a half apart, else neighbours
};

// x is (tokens, heads * head size).
void rotateFromCache(const at::Tensor& x, const CachedRotation& rotation, at::Tensor& out);

}  // namespace softcann::aclnn
