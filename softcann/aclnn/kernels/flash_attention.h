// CANN's attention for training: FlashAttentionScore and its gradient.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace softcann::aclnn {

// What all variants of the two operators share. Optional parts that a variant lacks stay empty.
struct FlashAttention {
  const at::Tensor& query;
  const at::Tensor& key;
  const at::Tensor& value;
  const std::optional<at::Tensor>& position_bias;  // "pse"
  const std::optional<at::Tensor>& dropout_bits;   // kept elements, eight to a byte
  const std::optional<at::Tensor>& padding_mask;   // CANN takes none
  const std::optional<at::Tensor>& mask;
  at::OptionalIntArrayRef prefix;
  double scale;
  double keep_probability;
  int64_t pre_tokens;
  int64_t next_tokens;
  int64_t heads;
  std::string_view layout;  // BSH, SBH, BSND, BNSD or TND
  int64_t sparse_mode;
  at::OptionalIntArrayRef query_ends = std::nullopt;  // cumulative lengths, for TND
  at::OptionalIntArrayRef key_ends = std::nullopt;
  int64_t bias_type = 1;                                // 0 adds the bias after scaling, 1 before
  const std::optional<at::Tensor>& query_rope = kNone;  // continues the query's head size
  const std::optional<at::Tensor>& key_rope = kNone;
  const std::optional<at::Tensor>& sink = kNone;  // (heads): a score that no key belongs to

  static const std::optional<at::Tensor> kNone;
};

// Statistics are (B, N, S, 8) or, packed, (T, N, 8), in float32, each value eight times.
void flashAttention(const FlashAttention& call, at::Tensor& softmax_max, at::Tensor& softmax_sum,
                    at::Tensor& out);

// Gradients of the parts that a call may lack; such are left undefined or empty.
struct OptionalGradients {
  at::Tensor bias;
  at::Tensor query_rope = {};
  at::Tensor key_rope = {};
  at::Tensor sink = {};
};

void flashAttentionGrad(const FlashAttention& call, const at::Tensor& grad_out,
                        const std::optional<at::Tensor>& softmax_max,
                        const std::optional<at::Tensor>& softmax_sum,
                        const std::optional<at::Tensor>& out, at::Tensor& grad_query,
                        at::Tensor& grad_key, at::Tensor& grad_value,
                        const OptionalGradients& optional);

// Bits of which each is 1 with probability 1 - p: what DropoutGenMask gives.
void dropoutBits(at::IntArrayRef shape, double p, int64_t seed, int64_t offset, at::Tensor& out);

}  // namespace softcann::aclnn
