// Whole layers of LSTM and GRU, and their gradients, with CANN's arguments.
//
// Parameters come as in PyTorch: for each layer and direction weight_ih, weight_hh and, if there
// are biases, bias_ih and bias_hh. Lists have an element for each layer and direction, of shape
// (time, batch, hidden).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace softcann::aclnn {

struct RecurrentLayers {
  bool has_bias;
  int64_t layers;
  bool bidirectional;
  bool batch_first;
  // Of sequences of different lengths, longest first: how many of them each step has. Inputs and
  // outputs are then padded, (time * batch, features) or (time, batch, features). Empty: every step
  // has all.
  std::vector<int64_t> batch_sizes;
  // The first direction runs from the last step to the first, and the second the other way.
  bool reversed = false;
};

// What a tensor of batch sizes says; none and an empty one say nothing.
std::vector<int64_t> batchSizesOf(const std::optional<at::Tensor>& batch_sizes);

using Tensors = std::vector<at::Tensor>;

// What the forward pass keeps of each layer and direction: the activated gates, the states and the
// activated cells. A list may be empty: nothing of it is kept.
struct LstmTrace {
  Tensors& input;
  Tensors& candidate;
  Tensors& forget;
  Tensors& output;
  Tensors& hidden;
  Tensors& cell;
  Tensors& activated_cell;
};

void lstm(const at::Tensor& input, const Tensors& params, const Tensors& states,
          const RecurrentLayers& shape, at::Tensor& out, at::Tensor& hy, at::Tensor& cy,
          LstmTrace trace);

// Of one layer in one direction or two. A gradient that is undefined counts as zero.
void lstmBackward(const at::Tensor& input, const Tensors& states, const Tensors& params,
                  const at::Tensor& grad_out, const at::Tensor& grad_hy, const at::Tensor& grad_cy,
                  LstmTrace trace, const RecurrentLayers& shape, at::Tensor& grad_input,
                  at::Tensor& grad_hx, at::Tensor& grad_cx, Tensors& grad_params);

struct GruTrace {
  Tensors& reset;
  Tensors& update;
  Tensors& candidate;
  Tensors& hidden_share;  // of the candidate: W_hn h + b_hn
  Tensors& hidden;
};

void gru(const at::Tensor& input, const Tensors& params, const at::Tensor& hx,
         const RecurrentLayers& shape, at::Tensor& out, at::Tensor& hy, GruTrace trace);

void gruBackward(const at::Tensor& input, const Tensors& params, const at::Tensor& hx,
                 const at::Tensor& grad_out, const at::Tensor& grad_hy, GruTrace trace,
                 const RecurrentLayers& shape, at::Tensor& grad_input, at::Tensor& grad_hx,
                 Tensors& grad_params);

// The parameters of one layer in one direction as CANN's DynamicRNN takes them: a weight of shape
// (input + hidden, 4 * hidden) for input and hidden state together, or, as in DynamicRNNV2, one of
// shape (input, 4 * hidden) beside a second of shape (hidden, 4 * hidden).
struct DynamicWeights {
  at::Tensor weight;
  std::optional<at::Tensor> hidden;
  std::optional<at::Tensor> bias;
};

// `mask` of shape (time, batch, hidden) is not 0 where a sequence has a step; it must say that
// longer sequences come first. A missing mask, and one of no dimension, says that all have every
// step.
RecurrentLayers dynamicLayer(const std::optional<at::Tensor>& mask, bool reversed);

// Results have an element for each step.
void dynamicRnn(const at::Tensor& input, const DynamicWeights& weights,
                const RecurrentLayers& shape, const at::Tensor& hx, const at::Tensor& cx,
                at::Tensor& out, LstmTrace trace);
// The bias's gradient is given whether there is a bias or not.
void dynamicRnnBackward(const at::Tensor& input, const DynamicWeights& weights,
                        const RecurrentLayers& shape, const at::Tensor& hx, const at::Tensor& cx,
                        const at::Tensor& grad_out, const at::Tensor& grad_hy,
                        const at::Tensor& grad_cy, LstmTrace trace, DynamicWeights grad_weights,
                        at::Tensor& grad_input, at::Tensor& grad_hx, at::Tensor& grad_cx);

}  // namespace softcann::aclnn
