// Attention with a state instead of scores: the gated delta rule.
//
// For each token, S := a S + b (v - a S k) k^T and o = scale * S q, with the decay a = exp(g) of a
// head, times exp(gk) of each element of the key; in float32.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

struct GatedDeltaRule {
  const at::Tensor& query;  // (tokens, key heads, key size), one sequence after another
  const at::Tensor& key;
  const at::Tensor& value;                   // (tokens, heads, value size)
  const std::optional<at::Tensor>& beta;     // (tokens, heads); missing: 1
  const std::optional<at::Tensor>& lengths;  // (batch): of the sequences
  const std::optional<at::Tensor>& g;        // (tokens, heads); missing: 0
  const std::optional<at::Tensor>& gk;       // (tokens, heads, key size); missing: 0
  double scale;
};

// State (blocks, heads, value size, key size) of each token at state_indices. A sequence begins
// with the state of its last accepted token: the first one where `accepted` is missing.
void recurrentGatedDeltaRule(const GatedDeltaRule& call,
                             const std::optional<at::Tensor>& state_indices,
                             const std::optional<at::Tensor>& accepted, at::Tensor& state,
                             at::Tensor& out);

// One state for each sequence, before and after it.
void chunkGatedDeltaRule(const GatedDeltaRule& call, const std::optional<at::Tensor>& initial_state,
                         at::Tensor& out, at::Tensor& final_state);

}  // namespace softcann::aclnn
