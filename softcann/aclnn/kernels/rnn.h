// One step of an LSTM or GRU, forward and backward.
//
// Half precision is computed in float32 and rounded once per result. Outputs that the caller
// leaves out are undefined tensors.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// hy and cy of shape (batch, hidden); storage of shape (batch, 4 * hidden) keeps the activated
// gates for the backward step.
void lstmCell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
              const std::optional<at::Tensor>& input_bias,
              const std::optional<at::Tensor>& hidden_bias, at::Tensor& hy, at::Tensor& cy,
              at::Tensor& storage);

// A gradient that is missing counts as zero.
void lstmCellBackward(const std::optional<at::Tensor>& grad_hy,
                      const std::optional<at::Tensor>& grad_cy, const at::Tensor& cx,
                      const at::Tensor& cy, const at::Tensor& storage, bool has_bias,
                      at::Tensor& grad_gates, at::Tensor& grad_cx, const at::Tensor& grad_bias);

// storage of shape (batch, 5 * hidden) keeps reset, update, new, hx and the hidden state's share
// of the new gate.
void gruCell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& hx,
             const std::optional<at::Tensor>& input_bias,
             const std::optional<at::Tensor>& hidden_bias, at::Tensor& hy, at::Tensor& storage);

void gruCellBackward(const at::Tensor& grad_hy, const at::Tensor& storage,
                     at::Tensor& grad_input_gates, at::Tensor& grad_hidden_gates,
                     at::Tensor& grad_hx, const at::Tensor& grad_input_bias,
                     const at::Tensor& grad_hidden_bias);

}  // namespace softcann::aclnn
