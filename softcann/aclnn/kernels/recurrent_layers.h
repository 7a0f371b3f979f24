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

// One layer in one direction with CANN's weight of shape (input + hidden, 4 * hidden) for input and
// hidden state together. Results have an element for each step.
void dynamicRnn(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                const at::Tensor& hx, const at::Tensor& cx, at::Tensor& out, LstmTrace trace);
void dynamicRnnBackward(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& hx, const at::Tensor& cx, const at::Tensor& grad_out,
                        const at::Tensor& grad_hy, const at::Tensor& grad_cy, LstmTrace trace,
                        at::Tensor& grad_weight, at::Tensor& grad_bias, at::Tensor& grad_input,
                        at::Tensor& grad_hx, at::Tensor& grad_cx);

}  // namespace softcann::aclnn
