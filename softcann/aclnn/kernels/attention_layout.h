// The orders in which CANN's attention operators take batch (B), sequence (S), heads (N) and head
// size (D), all seen as (batch, heads, sequence, head size); and their numbered masks.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "aclnn/kernels/attention_core.h"

namespace softcann::aclnn {

// Whether sequences of different lengths lie one after another (T is the sum of the lengths).
bool isPacked(std::string_view layout);

// A view of BSH, SBH, BSND, BNSD or NBSD (with `heads` heads) as (B, N, S, D).
at::Tensor asBatch(const at::Tensor& tensor, std::string_view layout, int64_t heads);
// A view of TND or NTD as (N, T, D).
at::Tensor asPacked(const at::Tensor& tensor, std::string_view layout);

// Where each sequence begins, and where the last one ends, from cumulative lengths. Trailing zeros
// stand for sequences that take no part.
std::vector<int64_t> boundaries(at::IntArrayRef cumulative, int64_t total, const char* what);

struct MaskOptions {
  int64_t sparse_mode = 0;
  int64_t pre_tokens = Visibility::kUnlimited;
  int64_t next_tokens = Visibility::kUnlimited;
};

// What sequence `index`, of these lengths, sees: 0 the mask within the band of pre and next tokens,
// 1 the mask, 2 causal from the upper left corner, 3 causal from the lower right corner, 4 a band
// from the lower right corner, 5 the mask (prefix as a mask), 6 causal and a prefix. Modes 2, 3, 4
// and 6 take no values from the mask, which is CANN's fixed triangle; without a mask every mode
// means that all is seen. `mask` is true or not 0 where a key is hidden: (S, S) or a batch of
// (N or 1, S, S).
Visibility visibilityOf(const std::optional<at::Tensor>& mask, const MaskOptions& options,
                        int64_t index, int64_t queries, int64_t keys, int64_t prefix = 0);

}  // namespace softcann::aclnn
