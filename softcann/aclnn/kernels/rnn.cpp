#include "aclnn/kernels/rnn.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sigmoid_backward.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tanh_backward.h>

namespace softcann::aclnn {

namespace {

using OptionalTensorRef = const std::optional<at::Tensor>&;

at::ScalarType computeType(const at::Tensor& tensor) {
  return at::isReducedFloatingType(tensor.scalar_type()) ? at::kFloat : tensor.scalar_type();
}

at::Tensor widened(const at::Tensor& tensor) { return tensor.to(computeType(tensor)); }

// Where a result is computed: in place if its dtype is wide enough, else in a tensor that store()
// rounds into it.
class Result {
 public:
  explicit Result(const at::Tensor& out)
      : out_(out),
        value_(computeType(out) == out.scalar_type()
                   ? out
                   : at::empty(out.sizes(), out.options().dtype(computeType(out)))) {}

  at::Tensor& value() { return value_; }
  at::Tensor part(int64_t index, int64_t parts, int64_t count = 1) const {
    const int64_t width = value_.size(1) / parts;
    return value_.narrow(1, index * width, count * width);
  }
  void store() const {
    if (!value_.is_same(out_)) {
      out_.copy_(value_);
    }
  }

 private:
  at::Tensor out_;
  at::Tensor value_;
};

at::Tensor part(const at::Tensor& tensor, int64_t index, int64_t parts) {
  const int64_t width = tensor.size(1) / parts;
  return tensor.narrow(1, index * width, width);
}

void checkCell(const char* cell, const at::Tensor& input_gates, const at::Tensor& hidden_gates,
               const at::Tensor& state, int64_t gates) {
  TORCH_CHECK(input_gates.dim() == 2 && input_gates.sizes() == hidden_gates.sizes(), cell,
              ": expected input and hidden gates of one 2-D shape, but got ", input_gates.sizes(),
              " and ", hidden_gates.sizes());
  TORCH_CHECK(state.dim() == 2 && state.size(0) == input_gates.size(0) &&
                  state.size(1) * gates == input_gates.size(1),
              cell, ": a state of size ", state.sizes(), " does not fit gates of size ",
              input_gates.sizes());
}

void checkSizes(const char* what, const at::Tensor& tensor, at::IntArrayRef sizes) {
  TORCH_CHECK(tensor.sizes() == sizes, "expected ", what, " of size ", sizes, ", but got ",
              tensor.sizes());
}

void addBias(at::Tensor gates, OptionalTensorRef bias, int64_t from = 0) {
  if (bias.has_value()) {
    gates.add_(bias->narrow(0, from, gates.size(1)));
  }
}

void giveSum(const at::Tensor& grad_bias, const at::Tensor& grad_gates) {
  if (grad_bias.defined()) {
    grad_bias.copy_(at::sum(grad_gates, at::IntArrayRef{0}));
  }
}

}  // namespace

void lstmCell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& cx,
              OptionalTensorRef input_bias, OptionalTensorRef hidden_bias, at::Tensor& hy,
              at::Tensor& cy, at::Tensor& storage) {
  checkCell("the LSTM cell", input_gates, hidden_gates, cx, 4);
  checkSizes("storage", storage, input_gates.sizes());
  checkSizes("hy", hy, cx.sizes());
  checkSizes("cy", cy, cx.sizes());
  Result gates(storage);
  at::add_out(gates.value(), widened(input_gates), hidden_gates);
  addBias(gates.value(), input_bias);
  addBias(gates.value(), hidden_bias);
  gates.part(0, 4, 2).sigmoid_();
  gates.part(2, 4).tanh_();
  gates.part(3, 4).sigmoid_();

  Result cell(cy);
  at::mul_out(cell.value(), gates.part(1, 4), cx);
  cell.value().addcmul_(gates.part(0, 4), gates.part(2, 4));
  Result hidden(hy);
  at::tanh_out(hidden.value(), cell.value());
  hidden.value().mul_(gates.part(3, 4));
  gates.store();
  cell.store();
  hidden.store();
}

void lstmCellBackward(OptionalTensorRef grad_hy, OptionalTensorRef grad_cy, const at::Tensor& cx,
                      const at::Tensor& cy, const at::Tensor& storage, bool has_bias,
                      at::Tensor& grad_gates, at::Tensor& grad_cx, const at::Tensor& grad_bias) {
  checkCell("the LSTM cell's backward step", storage, storage, cx, 4);
  checkSizes("cy", cy, cx.sizes());
  checkSizes("gradGates", grad_gates, storage.sizes());
  checkSizes("gradCx", grad_cx, cx.sizes());
  TORCH_CHECK(grad_hy.has_value() || grad_cy.has_value(),
              "the LSTM cell's backward step needs a gradient of hy or cy");
  const at::Tensor gates = widened(storage);
  const at::Tensor input = part(gates, 0, 4);
  const at::Tensor forget = part(gates, 1, 4);
  const at::Tensor candidate = part(gates, 2, 4);
  const at::Tensor output = part(gates, 3, 4);
  Result grads(grad_gates);
  at::Tensor into_output = grads.part(3, 4);
  at::Tensor grad_cell;
  if (grad_hy.has_value()) {
    const at::Tensor activated = widened(cy).tanh();
    at::sigmoid_backward_out(into_output, at::mul(activated, *grad_hy), output);
    grad_cell = at::tanh_backward(at::mul(output, *grad_hy), activated);
    if (grad_cy.has_value()) {
      grad_cell.add_(*grad_cy);
    }
  } else {
    into_output.zero_();
    grad_cell = widened(*grad_cy);
  }
  at::Tensor into_input = grads.part(0, 4);
  at::Tensor into_forget = grads.part(1, 4);
  at::Tensor into_candidate = grads.part(2, 4);
  at::sigmoid_backward_out(into_input, at::mul(grad_cell, candidate), input);
  at::sigmoid_backward_out(into_forget, at::mul(grad_cell, cx), forget);
  at::tanh_backward_out(into_candidate, at::mul(grad_cell, input), candidate);
  Result previous(grad_cx);
  at::mul_out(previous.value(), grad_cell, forget);
  previous.store();
  grads.store();
  if (has_bias) {
    giveSum(grad_bias, grads.value());
  }
}

void gruCell(const at::Tensor& input_gates, const at::Tensor& hidden_gates, const at::Tensor& hx,
             OptionalTensorRef input_bias, OptionalTensorRef hidden_bias, at::Tensor& hy,
             at::Tensor& storage) {
  checkCell("the GRU cell", input_gates, hidden_gates, hx, 3);
  const int64_t width = hx.size(1);
  checkSizes("storage", storage, {hx.size(0), 5 * width});
  checkSizes("hy", hy, hx.sizes());
  const at::Tensor from_input = widened(input_gates);
  Result kept(storage);
  at::Tensor reset_and_update = kept.part(0, 5, 2);
  at::add_out(reset_and_update, from_input.narrow(1, 0, 2 * width),
              hidden_gates.narrow(1, 0, 2 * width));
  addBias(reset_and_update, input_bias);
  addBias(reset_and_update, hidden_bias);
  reset_and_update.sigmoid_();
  const at::Tensor reset = kept.part(0, 5);
  const at::Tensor update = kept.part(1, 5);
  at::Tensor candidate = kept.part(2, 5);
  at::Tensor hidden_share = kept.part(4, 5);
  kept.part(3, 5).copy_(hx);
  hidden_share.copy_(part(hidden_gates, 2, 3));
  addBias(hidden_share, hidden_bias, 2 * width);
  at::addcmul_out(candidate, part(from_input, 2, 3), reset, hidden_share);
  addBias(candidate, input_bias, 2 * width);
  candidate.tanh_();

  Result hidden(hy);
  at::sub_out(hidden.value(), kept.part(3, 5), candidate);
  hidden.value().mul_(update).add_(candidate);
  hidden.store();
  kept.store();
}

void gruCellBackward(const at::Tensor& grad_hy, const at::Tensor& storage,
                     at::Tensor& grad_input_gates, at::Tensor& grad_hidden_gates,
                     at::Tensor& grad_hx, const at::Tensor& grad_input_bias,
                     const at::Tensor& grad_hidden_bias) {
  checkCell("the GRU cell's backward step", storage, storage, grad_hy, 5);
  const int64_t width = grad_hy.size(1);
  checkSizes("gradInputGates", grad_input_gates, {grad_hy.size(0), 3 * width});
  checkSizes("gradHiddenGates", grad_hidden_gates, grad_input_gates.sizes());
  checkSizes("gradHx", grad_hx, grad_hy.sizes());
  const at::Tensor kept = widened(storage);
  const at::Tensor reset = part(kept, 0, 5);
  const at::Tensor update = part(kept, 1, 5);
  const at::Tensor candidate = part(kept, 2, 5);
  const at::Tensor grad = widened(grad_hy);

  Result previous(grad_hx);
  at::mul_out(previous.value(), grad, update);
  Result into_input(grad_input_gates);
  at::Tensor into_reset = into_input.part(0, 3);
  at::Tensor into_update = into_input.part(1, 3);
  at::Tensor into_candidate = into_input.part(2, 3);
  at::tanh_backward_out(into_candidate, at::sub(grad, previous.value()), candidate);
  at::sigmoid_backward_out(into_update, at::sub(part(kept, 3, 5), candidate).mul_(grad), update);
  at::sigmoid_backward_out(into_reset, at::mul(into_candidate, part(kept, 4, 5)), reset);
  Result into_hidden(grad_hidden_gates);
  into_hidden.part(0, 3, 2).copy_(into_input.part(0, 3, 2));
  at::Tensor into_hidden_candidate = into_hidden.part(2, 3);
  at::mul_out(into_hidden_candidate, into_candidate, reset);
  giveSum(grad_input_bias, into_input.value());
  giveSum(grad_hidden_bias, into_hidden.value());
  previous.store();
  into_input.store();
  into_hidden.store();
}

}  // namespace softcann::aclnn
