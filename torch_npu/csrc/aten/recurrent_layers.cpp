// npu_lstm, npu_lstm_cell and npu_gru: a layer in one direction, with what each step computed.
// Composed of PyTorch's operators, which differentiate them. torch.nn.LSTM and GRU do not need
// these (csrc/aten/recurrent.cpp).

#include <ATen/ops/addmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <torch/library.h>

#include <array>
#include <optional>
#include <vector>

#include "torch_npu/csrc/aten/checked_calls.h"
#include "torch_npu/csrc/aten/custom_arguments.h"

namespace torch_npu {

namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

void checkLayer(const char* op, const Tensor& input, int64_t num_layers, double dropout,
                bool bidirectional, bool batch_first) {
  TORCH_CHECK(input.dim() == 3, op, ": expected input of (time, batch, features), but got ",
              input.sizes());
  checkOneOf(op, "num_layers", num_layers, {1});
  TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0 && !bidirectional && !batch_first, op,
                              ": dropout, bidirectional and batch_first are not supported; use "
                              "torch.nn.LSTM or torch.nn.GRU");
}

Tensor product(const Tensor& x, const Tensor& weight, const OptionalTensor& bias) {
  return given(bias) ? at::addmm(*bias, x, weight) : at::mm(x, weight);
}

Tensor firstState(const char* op, const Tensor& state, int64_t batch) {
  const Tensor own = state.dim() == 3 && state.size(0) == 1 ? state.squeeze(0) : state;
  TORCH_CHECK(own.dim() == 2 && own.size(0) == batch, op, ": expected states of (1, ", batch,
              ", hidden), but got ", state.sizes());
  return own;
}

// A step's input, candidate, forget and output gates, its states and the activated cell.
struct LstmStep {
  Tensor hidden, cell, input, candidate, forget, output, activated;
};

// From the gates before activation, in the order input, forget, candidate, output.
LstmStep lstmStep(const Tensor& gates, const Tensor& cell) {
  const auto parts = gates.chunk(4, 1);
  LstmStep step;
  step.input = parts[0].sigmoid();
  step.forget = parts[1].sigmoid();
  step.candidate = parts[2].tanh();
  step.output = parts[3].sigmoid();
  step.cell = step.forget.mul(cell).add(step.input.mul(step.candidate));
  step.activated = step.cell.tanh();
  step.hidden = step.output.mul(step.activated);
  return step;
}

using EightTensors = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

// The weight (features + hidden, 4 * hidden) is for input and state together.
EightTensors lstm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                  const Tensor& /*seq_mask*/, const Tensor& h, const Tensor& c, bool has_biases,
                  int64_t num_layers, double dropout, bool /*train*/, bool bidirectional,
                  bool batch_first, bool flag_seq, bool direction) {
  constexpr const char* kOp = "npu_lstm";
  checkLayer(kOp, input, num_layers, dropout, bidirectional, batch_first);
  TORCH_CHECK_NOT_IMPLEMENTED(!flag_seq, kOp, ": flag_seq True is not supported; pad sequences");
  Tensor hidden = firstState(kOp, h, input.size(1));
  Tensor cell = firstState(kOp, c, input.size(1));
  TORCH_CHECK(weight.dim() == 2 && weight.size(0) == input.size(2) + hidden.size(1) &&
                  weight.size(1) == 4 * hidden.size(1),
              kOp, ": expected weight of (", input.size(2) + hidden.size(1), ", ",
              4 * hidden.size(1), "), but got ", weight.sizes());
  const OptionalTensor used_bias = has_biases ? OptionalTensor(bias) : std::nullopt;
  const int64_t time = input.size(0);
  TORCH_CHECK(time > 0, kOp, ": expected input with steps, but got ", input.sizes());
  std::vector<LstmStep> steps(static_cast<size_t>(time));
  for (int64_t i = 0; i < time; ++i) {
    const int64_t t = direction ? time - 1 - i : i;
    const Tensor both = at::cat({input.select(0, t), hidden}, 1);
    LstmStep step = lstmStep(product(both, weight, used_bias), cell);
    hidden = step.hidden;
    cell = step.cell;
    steps[static_cast<size_t>(t)] = std::move(step);
  }
  const auto all = [&](Tensor LstmStep::* part) {
    std::vector<Tensor> parts;
    for (const LstmStep& step : steps) parts.push_back(step.*part);
    return at::stack(parts);
  };
  const Tensor states = all(&LstmStep::hidden);
  return {states,
          states,
          all(&LstmStep::cell),
          all(&LstmStep::input),
          all(&LstmStep::candidate),
          all(&LstmStep::forget),
          all(&LstmStep::output),
          all(&LstmStep::activated)};
}

EightTensors lstmCell(const Tensor& input, const Tensor& w_ih, const Tensor& w_hh, const Tensor& h,
                      const Tensor& c, const OptionalTensor& b_ih, const OptionalTensor& b_hh) {
  constexpr const char* kOp = "npu_lstm_cell";
  TORCH_CHECK(given(b_ih) == given(b_hh), kOp, ": expected b_ih and b_hh together");
  const LstmStep step = lstmStep(product(input, w_ih, b_ih).add(product(h, w_hh, b_hh)), c);
  return {step.hidden.unsqueeze(0),
          step.hidden,
          step.cell,
          step.input.unsqueeze(0),
          step.candidate.unsqueeze(0),
          step.forget.unsqueeze(0),
          step.output.unsqueeze(0),
          step.activated.unsqueeze(0)};
}

// Gates in the order reset, update, new; weights are (features, 3 * hidden), (hidden, 3 * hidden).
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> gru(
    const Tensor& input, const Tensor& hx, const Tensor& weight_input, const Tensor& weight_hidden,
    const Tensor& bias_input, const Tensor& bias_hidden, const Tensor& /*seq_length*/,
    bool has_biases, int64_t num_layers, double dropout, bool /*train*/, bool bidirectional,
    bool batch_first) {
  constexpr const char* kOp = "npu_gru";
  checkLayer(kOp, input, num_layers, dropout, bidirectional, batch_first);
  TORCH_CHECK(input.size(0) > 0, kOp, ": expected input with steps, but got ", input.sizes());
  const OptionalTensor input_bias = has_biases ? OptionalTensor(bias_input) : std::nullopt;
  const OptionalTensor hidden_bias = has_biases ? OptionalTensor(bias_hidden) : std::nullopt;
  Tensor hidden = firstState(kOp, hx, input.size(1));
  std::array<std::vector<Tensor>, 5> trace;  // hidden, update, reset, new, its hidden share
  for (int64_t t = 0; t < input.size(0); ++t) {
    const auto from_input = product(input.select(0, t), weight_input, input_bias).chunk(3, 1);
    const auto from_hidden = product(hidden, weight_hidden, hidden_bias).chunk(3, 1);
    const Tensor reset = from_input[0].add(from_hidden[0]).sigmoid();
    const Tensor update = from_input[1].add(from_hidden[1]).sigmoid();
    const Tensor candidate = from_input[2].add(reset.mul(from_hidden[2])).tanh();
    hidden = candidate.add(update.mul(hidden.sub(candidate)));
    const std::array<Tensor, 5> parts = {hidden, update, reset, candidate, from_hidden[2]};
    for (size_t i = 0; i < parts.size(); ++i) trace[i].push_back(parts[i]);
  }
  const Tensor states = at::stack(trace[0]);
  return {states,
          states,
          at::stack(trace[1]),
          at::stack(trace[2]),
          at::stack(trace[3]),
          at::stack(trace[4])};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def(
      "npu_lstm(Tensor input, Tensor weight, Tensor bias, Tensor seq_mask, Tensor h, Tensor c, "
      "bool "
      "has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool "
      "batch_first, "
      "bool flag_seq, bool direction) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, "
      "Tensor)",
      checked<&lstm>());
  m.def(
      "npu_lstm_cell(Tensor input, Tensor w_ih, Tensor w_hh, Tensor h, Tensor c, Tensor? "
      "b_ih=None, "
      "Tensor? b_hh=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
      checked<&lstmCell>());
  m.def(
      "npu_gru(Tensor input, Tensor hx, Tensor weight_input, Tensor weight_hidden, Tensor "
      "bias_input, Tensor bias_hidden, Tensor seq_length, bool has_biases, int num_layers, float "
      "dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor, "
      "Tensor,"
      " Tensor, Tensor)",
      checked<&gru>());
}

}  // namespace torch_npu
