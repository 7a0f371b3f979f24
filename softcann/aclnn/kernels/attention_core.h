// Attention of one sequence, with the statistics that CANN's operators give back and a mask that
// need not exist in memory. Everything runs in float32 (float64 for float64), in blocks of queries
// so that the matrix of scores stays small.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>

namespace softcann::aclnn {

// Which keys a query sees. A query that sees none gives zeros.
struct Visibility {
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  at::Tensor hidden;            // bool, broadcasts to (heads, queries, keys); may be undefined
  int64_t before = kUnlimited;  // query i sees key j only if i - before <= j <= i + after
  int64_t after = kUnlimited;
  int64_t prefix = 0;  // keys 0 to prefix - 1 are seen all the same
};

struct Sequence {
  at::Tensor query;          // (heads, queries, size)
  at::Tensor key;            // (key heads, keys, size); a group of query heads shares a key head
  at::Tensor value;          // (key heads, keys, value size)
  at::Tensor bias;           // broadcasts to (heads, queries, keys); may be undefined
  bool bias_scaled = false;  // scale * (query @ key + bias) instead of scale * query @ key + bias
  at::Tensor sink;           // (heads): a score of no key that takes part in the softmax's sum
  at::Tensor kept;           // dropout, bool (heads, queries, keys); may be undefined
  double keep_probability = 1.0;
  double scale = 1.0;
  Visibility visibility;
};

struct AttentionResult {
  at::Tensor out;      // (heads, queries, value size)
  at::Tensor maximum;  // (heads, queries): of the visible scores; -inf if there are none
  at::Tensor sum;      // (heads, queries): of exp(score - maximum)
};

AttentionResult attend(const Sequence& sequence);

struct AttentionGradients {
  at::Tensor query, key, value;
  at::Tensor bias;  // (heads, queries, keys); undefined if there was no bias
  at::Tensor sink;  // (heads); undefined if there was no sink
};

// From what attend() gave: its output and statistics.
AttentionGradients attendBackward(const Sequence& sequence, const at::Tensor& grad_out,
                                  const AttentionResult& forward);

}  // namespace softcann::aclnn
