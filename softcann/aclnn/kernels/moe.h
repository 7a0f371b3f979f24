// Mixture of experts: choosing experts, and moving tokens to them and back.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

using OptionalTensorRef = const std::optional<at::Tensor>&;

struct GatingOptions {
  int64_t k;
  int64_t k_group;            // groups of experts that stay
  int64_t group_count;        // 1: no groups
  int64_t group_select_mode;  // 0: a group counts as its best expert, 1: as its two best together
  int64_t renorm;             // 1: the chosen weights are divided by their sum
  int64_t norm_type;          // 0: softmax, 1: sigmoid (whose weights are divided by their sum too)
  double scaling;
  double epsilon;
};

// Weights (rows, k) of the chosen experts, their numbers (int32), and all weights if `norm_out` has
// elements. `bias` takes part in the choice only.
// With ids of the rows and a table (ids, k), the table says which experts a row has.
void gatingTopK(const at::Tensor& x, OptionalTensorRef bias, const GatingOptions& options,
                OptionalTensorRef ids, OptionalTensorRef table, at::Tensor& y, at::Tensor& expert,
                const at::Tensor& norm_out);
// The gradient of x from the weights of all experts (norm_out), that of y, and the chosen experts.
void gatingTopKGrad(const at::Tensor& norm, const at::Tensor& grad_y, const at::Tensor& expert,
                    int64_t renorm, int64_t norm_type, double scaling, double epsilon,
                    at::Tensor& grad_x);
// Softmax and its k largest. A finished row's experts are one beyond the last. row(i, j) is
// j * rows + i.
void gatingTopKSoftmax(const at::Tensor& x, OptionalTensorRef finished, int64_t k, at::Tensor& y,
                       at::Tensor& expert, at::Tensor& row);
// The same without rows; with `renorm` 1 softmax of the k largest. `softmax_out` gets the softmax
// of all experts if it is defined.
void gatingTopKSoftmaxV2(const at::Tensor& x, OptionalTensorRef finished, int64_t k, int64_t renorm,
                         at::Tensor& y, at::Tensor& expert, const at::Tensor& softmax_out);

// Tokens in the order of their experts: expanded_x; where each (row, expert) went; the experts.
void initRouting(const at::Tensor& x, const at::Tensor& row, const at::Tensor& expert,
                 int64_t active, at::Tensor& expanded_x, at::Tensor& expanded_row,
                 at::Tensor& expanded_expert);

struct RoutingOptions {
  int64_t capacity;  // tokens an expert takes, if drop_pad
  int64_t experts;
  bool drop_pad;        // expanded_x is (experts, capacity, H): what is too much is dropped
  int64_t count_type;   // 0: cumulative, 1: counts, 2: pairs of expert and count
  bool counts;          // whether the tokens of each expert are counted
  int64_t quant_mode;   // -1: none, 0: static, 1: dynamic
  int64_t first, last;  // experts [first, last) take part
  bool scatter_index;   // expanded_row tells where a row comes from, not where it went
};
void initRoutingV3(const at::Tensor& x, const at::Tensor& expert, OptionalTensorRef scale,
                   OptionalTensorRef offset, const RoutingOptions& options, at::Tensor& expanded_x,
                   at::Tensor& expanded_row, at::Tensor& counts, at::Tensor& expanded_scale);

// out = skip1 + skip2 + sum over k of scales * (row + bias of its expert). Drop-pad modes 2 and 3
// number the rows (row, k) instead of (k, row).
void finalizeRouting(const at::Tensor& expanded, const at::Tensor& positions,
                     OptionalTensorRef skip1, OptionalTensorRef skip2, OptionalTensorRef bias,
                     OptionalTensorRef scales, OptionalTensorRef expert, int64_t drop_pad_mode,
                     at::Tensor& out);

// Tokens in the order of their experts; position of each (token, expert) in it.
void tokenPermute(const at::Tensor& tokens, const at::Tensor& indices, at::Tensor& permuted,
                  at::Tensor& sorted_indices);
void tokenPermuteGrad(const at::Tensor& grad, const at::Tensor& sorted_indices, int64_t top_k,
                      at::Tensor& out);
// out[i] = sum over k of probs[i, k] * permuted[position of (i, k)]; 0 for dropped ones.
void tokenUnpermute(const at::Tensor& permuted, const at::Tensor& sorted_indices,
                    OptionalTensorRef probs, at::Tensor& out);
void tokenUnpermuteGrad(OptionalTensorRef permuted, const at::Tensor& grad,
                        const at::Tensor& sorted_indices, OptionalTensorRef probs,
                        at::Tensor& grad_permuted, const at::Tensor& grad_probs);
void refusePadded(bool padded_mode);

}  // namespace softcann::aclnn
