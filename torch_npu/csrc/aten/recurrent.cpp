// The cells that nn.LSTM and nn.GRU expect of every device but the CPU: one step, from the gates'
// pre-activations, and its backward step.
//
// Gates lie side by side in dimension 1: input, forget, cell, output for the LSTM; reset, update,
// new for the GRU. What the forward step keeps for the backward step ("workspace") is, for the
// LSTM, the activated gates; for the GRU reset, update, new, the state before the step, and that
// state's share of the new gate.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh_backward.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/aten/outputs.h"

namespace torch_npu {
namespace {

using at::Tensor;
using OptionalTensorRef = const std::optional<Tensor>&;

AclnnFunction aclnnThnnFusedLstmCell("aclnnThnnFusedLstmCell");
AclnnFunction aclnnThnnFusedLstmCellBackward("aclnnThnnFusedLstmCellBackward");
AclnnFunction softcannThnnFusedGruCell("softcannThnnFusedGruCell");
AclnnFunction softcannThnnFusedGruCellBackward("softcannThnnFusedGruCellBackward");

constexpr int64_t kGateDim = 1;
constexpr int64_t kLstmGates = 4;
constexpr int64_t kGruGates = 3;
constexpr int64_t kGruKept = 5;

bool isGiven(OptionalTensorRef tensor) { return tensor.has_value() && tensor->defined(); }

// --- checks, which spare the launches theirs --------------------------------------------------

void checkPart(const char* cell, const char* name, const Tensor& tensor, at::IntArrayRef sizes,
               at::ScalarType type) {
  TORCH_CHECK(tensor.sizes() == sizes, cell, ": expected ", name, " of size ", sizes, ", but got ",
              tensor.sizes());
  TORCH_CHECK(tensor.scalar_type() == type, cell, ": expected ", name, " of dtype ", type,
              ", but got ", tensor.scalar_type());
}

void checkGates(const char* cell, const Tensor& input_gates, const Tensor& hidden_gates,
                const Tensor& state, int64_t gate_count, OptionalTensorRef input_bias,
                OptionalTensorRef hidden_bias) {
  TORCH_CHECK(input_gates.dim() == 2 && input_gates.sizes() == hidden_gates.sizes(), cell,
              ": expected input and hidden gates of one 2-D shape, but got ", input_gates.sizes(),
              " and ", hidden_gates.sizes());
  TORCH_CHECK(state.dim() == 2 && state.size(0) == input_gates.size(0) &&
                  state.size(1) * gate_count == input_gates.size(1),
              cell, ": a state of size ", state.sizes(), " does not fit gates of size ",
              input_gates.sizes());
  const at::ScalarType type = input_gates.scalar_type();
  TORCH_CHECK(at::isFloatingType(type), cell, ": expected floating point gates, but got ", type);
  checkPart(cell, "hidden gates", hidden_gates, input_gates.sizes(), type);
  checkPart(cell, "a state", state, state.sizes(), type);
  const int64_t width[] = {input_gates.size(1)};
  if (isGiven(input_bias)) {
    checkPart(cell, "an input bias", *input_bias, width, type);
  }
  if (isGiven(hidden_bias)) {
    checkPart(cell, "a hidden bias", *hidden_bias, width, type);
  }
}

Tensor biasOf(bool has_bias, const Tensor& gates) {
  return has_bias ? shapes::sized({gates.size(kGateDim)}, gates) : Tensor();
}

// --- LSTM -------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor, Tensor> lstmCell(const Tensor& input_gates, const Tensor& hidden_gates,
                                            const Tensor& cx, OptionalTensorRef input_bias,
                                            OptionalTensorRef hidden_bias) {
  checkGates("_thnn_fused_lstm_cell", input_gates, hidden_gates, cx, kLstmGates, input_bias,
             hidden_bias);
  Tensor hy = shapes::sized(cx.sizes(), cx);
  Tensor cy = shapes::sized(cx.sizes(), cx);
  Tensor workspace = shapes::sized(input_gates.sizes(), input_gates);
  launchChecked(aclnnThnnFusedLstmCell, input_gates, hidden_gates, cx, input_bias, hidden_bias, hy,
                cy, workspace);
  return {std::move(hy), std::move(cy), std::move(workspace)};
}

std::tuple<Tensor, Tensor, Tensor> lstmCellBackward(OptionalTensorRef grad_hy,
                                                    OptionalTensorRef grad_cy, const Tensor& cx,
                                                    const Tensor& cy, const Tensor& workspace,
                                                    bool has_bias) {
  constexpr const char* kName = "_thnn_fused_lstm_cell_backward_impl";
  if (!isGiven(grad_hy) && !isGiven(grad_cy)) {
    return {};
  }
  checkGates(kName, workspace, workspace, cx, kLstmGates, std::nullopt, std::nullopt);
  checkPart(kName, "cy", cy, cx.sizes(), cx.scalar_type());
  for (OptionalTensorRef grad : {grad_hy, grad_cy}) {
    if (isGiven(grad)) {
      checkPart(kName, "a gradient", *grad, cx.sizes(), cx.scalar_type());
    }
  }
  Tensor grad_gates = shapes::sized(workspace.sizes(), workspace);
  Tensor grad_cx = shapes::sized(cx.sizes(), cx);
  Tensor grad_bias = biasOf(has_bias, workspace);
  launchChecked(aclnnThnnFusedLstmCellBackward, grad_hy, grad_cy, cx, cy, workspace, has_bias,
                grad_gates, grad_cx, grad_bias);
  return {std::move(grad_gates), std::move(grad_cx), std::move(grad_bias)};
}

// --- GRU, out of other operators, for a CANN that has it only as a whole layer ----------------

Tensor withBias(const Tensor& gates, OptionalTensorRef bias) {
  return isGiven(bias) ? at::add(gates, *bias) : gates;
}

Tensor biasGradient(const Tensor& grad_gates, bool has_bias) {
  return has_bias ? at::sum(grad_gates, {0}, /*keepdim=*/false) : Tensor();
}

std::tuple<Tensor, Tensor> composedGruCell(const Tensor& input_gates, const Tensor& hidden_gates,
                                           const Tensor& hx, OptionalTensorRef input_bias,
                                           OptionalTensorRef hidden_bias) {
  const int64_t width = hx.size(kGateDim);
  const Tensor from_input = withBias(input_gates, input_bias);
  const Tensor from_hidden = withBias(hidden_gates, hidden_bias);
  const Tensor reset_and_update =
      at::add(from_input.narrow(kGateDim, 0, 2 * width), from_hidden.narrow(kGateDim, 0, 2 * width))
          .sigmoid_();
  const Tensor reset = reset_and_update.narrow(kGateDim, 0, width);
  const Tensor update = reset_and_update.narrow(kGateDim, width, width);
  const Tensor hidden_new = from_hidden.narrow(kGateDim, 2 * width, width);
  const Tensor proposal =
      at::addcmul(from_input.narrow(kGateDim, 2 * width, width), reset, hidden_new).tanh_();
  const Tensor hy = at::addcmul(proposal, at::sub(hx, proposal), update);
  return {hy, at::cat({reset_and_update, proposal, hx, hidden_new}, kGateDim)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> composedGruCellBackward(const Tensor& grad_hy,
                                                                           const Tensor& workspace,
                                                                           bool has_bias) {
  const std::vector<Tensor> kept = workspace.chunk(kGruKept, kGateDim);
  const Tensor& reset = kept[0];
  const Tensor& update = kept[1];
  const Tensor& proposal = kept[2];
  const Tensor& hx = kept[3];
  const Tensor& hidden_new = kept[4];
  const Tensor grad_hx = at::mul(grad_hy, update);
  const Tensor grad_new = at::tanh_backward(at::sub(grad_hy, grad_hx), proposal);
  const Tensor grad_update = at::sigmoid_backward(at::mul(grad_hy, at::sub(hx, proposal)), update);
  const Tensor grad_reset = at::sigmoid_backward(at::mul(grad_new, hidden_new), reset);
  const Tensor grad_input_gates = at::cat({grad_reset, grad_update, grad_new}, kGateDim);
  const Tensor grad_hidden_gates =
      at::cat({grad_reset, grad_update, at::mul(grad_new, reset)}, kGateDim);
  return {grad_input_gates, grad_hidden_gates, grad_hx, biasGradient(grad_input_gates, has_bias),
          biasGradient(grad_hidden_gates, has_bias)};
}

// --- GRU --------------------------------------------------------------------------------------

std::tuple<Tensor, Tensor> gruCell(const Tensor& input_gates, const Tensor& hidden_gates,
                                   const Tensor& hx, OptionalTensorRef input_bias,
                                   OptionalTensorRef hidden_bias) {
  checkGates("_thnn_fused_gru_cell", input_gates, hidden_gates, hx, kGruGates, input_bias,
             hidden_bias);
  if (C10_UNLIKELY(!softcannThnnFusedGruCell.available())) {
    return composedGruCell(input_gates, hidden_gates, hx, input_bias, hidden_bias);
  }
  Tensor hy = shapes::sized(hx.sizes(), hx);
  Tensor workspace = shapes::sized({hx.size(0), kGruKept * hx.size(kGateDim)}, hx);
  launchChecked(softcannThnnFusedGruCell, input_gates, hidden_gates, hx, input_bias, hidden_bias,
                hy, workspace);
  return {std::move(hy), std::move(workspace)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gruCellBackward(const Tensor& grad_hy,
                                                                   const Tensor& workspace,
                                                                   bool has_bias) {
  constexpr const char* kName = "_thnn_fused_gru_cell_backward";
  checkGates(kName, workspace, workspace, grad_hy, kGruKept, std::nullopt, std::nullopt);
  if (C10_UNLIKELY(!softcannThnnFusedGruCellBackward.available())) {
    return composedGruCellBackward(grad_hy, workspace, has_bias);
  }
  const int64_t gates[] = {grad_hy.size(0), kGruGates * grad_hy.size(kGateDim)};
  Tensor grad_input_gates = shapes::sized(gates, workspace);
  Tensor grad_hidden_gates = shapes::sized(gates, workspace);
  Tensor grad_hx = shapes::sized(grad_hy.sizes(), grad_hy);
  Tensor grad_input_bias = biasOf(has_bias, grad_input_gates);
  Tensor grad_hidden_bias = biasOf(has_bias, grad_hidden_gates);
  launchChecked(softcannThnnFusedGruCellBackward, grad_hy, workspace, grad_input_gates,
                grad_hidden_gates, grad_hx, grad_input_bias, grad_hidden_bias);
  return {std::move(grad_input_gates), std::move(grad_hidden_gates), std::move(grad_hx),
          std::move(grad_input_bias), std::move(grad_hidden_bias)};
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_thnn_fused_lstm_cell", TORCH_FN(lstmCell));
  m.impl("_thnn_fused_lstm_cell_backward_impl", TORCH_FN(lstmCellBackward));
  m.impl("_thnn_fused_gru_cell", TORCH_FN(gruCell));
  m.impl("_thnn_fused_gru_cell_backward", TORCH_FN(gruCellBackward));
}

}  // namespace torch_npu
