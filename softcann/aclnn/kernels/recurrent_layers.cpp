#include "aclnn/kernels/recurrent_layers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <c10/util/Exception.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace softcann::aclnn {

namespace {

// One layer's parameters in one direction.
struct Cell {
  Cell(const Tensors& params, const RecurrentLayers& shape, int64_t index)
      : first(index * (shape.has_bias ? 4 : 2)),
        weight_ih(params.at(first)),
        weight_hh(params.at(first + 1)) {
    if (shape.has_bias) {
      bias_ih = params.at(first + 2);
      bias_hh = params.at(first + 3);
    }
  }
  int64_t first;
  at::Tensor weight_ih;
  at::Tensor weight_hh;
  std::optional<at::Tensor> bias_ih;
  std::optional<at::Tensor> bias_hh;
};

int64_t directions(const RecurrentLayers& shape) { return shape.bidirectional ? 2 : 1; }

at::Tensor timeFirst(const at::Tensor& tensor, const RecurrentLayers& shape) {
  if (const auto time = static_cast<int64_t>(shape.batch_sizes.size()); time != 0) {
    return tensor.dim() == 3 ? tensor : tensor.view({time, tensor.size(0) / time, tensor.size(1)});
  }
  return shape.batch_first ? tensor.transpose(0, 1) : tensor;
}

// Of a layer's first or second direction: 0 runs from the first step on, 1 from the last.
int64_t orderOf(int64_t direction, const RecurrentLayers& shape) {
  return shape.reversed ? 1 - direction : direction;
}

// The steps in the order in which direction 0 or 1 takes them.
int64_t stepAt(int64_t i, int64_t steps, int64_t direction) {
  return direction == 0 ? i : steps - 1 - i;
}

// How many sequences have step t.
int64_t rowsAt(int64_t t, const at::Tensor& step, const RecurrentLayers& shape) {
  return shape.batch_sizes.empty() ? step.size(0) : shape.batch_sizes[t];
}

// Sequences that do not have a step keep what they had.
at::Tensor carried(const at::Tensor& now, const at::Tensor& before, int64_t rows) {
  const int64_t all = now.size(0);
  if (rows == all) return now;
  return at::cat({now.narrow(0, 0, rows), before.narrow(0, rows, all - rows)}, 0);
}

// They give nothing, and pass nothing on.
at::Tensor masked(const at::Tensor& step, int64_t rows) {
  return rows == step.size(0) ? step : carried(step, at::zeros_like(step), rows);
}

void keep(Tensors& list, int64_t index, const at::Tensor& value) {
  if (!list.empty()) list.at(index).copy_(value.reshape(list.at(index).sizes()));
}

// The elements of a saved list, or an undefined tensor.
at::Tensor steps(const Tensors& list, int64_t index, at::IntArrayRef shape) {
  return list.at(index).reshape(shape);
}

// A layer's own input: the network's for the first, and for others the states of the layer below.
at::Tensor inputOf(int64_t layer, const at::Tensor& input, const Tensors& hidden,
                   const RecurrentLayers& shape) {
  if (layer == 0) return input;
  const int64_t below = (layer - 1) * directions(shape);
  const int64_t time = input.size(0), batch = input.size(1);
  Tensors parts;
  for (int64_t direction = 0; direction < directions(shape); ++direction) {
    parts.push_back(hidden.at(below + direction).reshape({time, batch, -1}));
  }
  return at::cat(parts, -1);
}

// What a step of the backward pass gives: gradients of the gates before activation, by the input's
// and by the hidden state's share, and of the previous hidden state beside what the gates pass on.
struct StepGradient {
  at::Tensor input_gates;
  at::Tensor hidden_gates;
  at::Tensor hidden;
};

// The gradients of one layer and direction; `step` is called from the last step taken to the first.
template <class Step>
at::Tensor cellBackward(const Cell& cell, const at::Tensor& input, const at::Tensor& hidden,
                        const at::Tensor& h0, const at::Tensor& grad_out, at::Tensor grad_h,
                        int64_t direction, const RecurrentLayers& shape, Tensors& grad_params,
                        at::Tensor grad_h0, Step step) {
  const int64_t time = input.size(0);
  at::Tensor grad_input = at::zeros_like(input);
  std::vector<at::Tensor> sums{at::zeros_like(cell.weight_ih), at::zeros_like(cell.weight_hh)};
  if (cell.bias_ih) {
    sums.push_back(at::zeros_like(*cell.bias_ih));
    sums.push_back(at::zeros_like(*cell.bias_hh));
  }
  for (int64_t i = time; i-- > 0;) {
    const int64_t t = stepAt(i, time, direction);
    const at::Tensor before = i == 0 ? h0 : hidden[stepAt(i - 1, time, direction)];
    const int64_t rows = rowsAt(t, before, shape);
    if (grad_out.defined()) grad_h = grad_h.add(masked(grad_out[t], rows));
    StepGradient gradient = step(t, i, before, grad_h);
    gradient.input_gates = masked(gradient.input_gates, rows);
    gradient.hidden_gates = masked(gradient.hidden_gates, rows);
    gradient.hidden = carried(gradient.hidden, grad_h, rows);
    grad_input[t].copy_(at::mm(gradient.input_gates, cell.weight_ih));
    grad_h = at::mm(gradient.hidden_gates, cell.weight_hh).add_(gradient.hidden);
    sums[0].add_(at::mm(gradient.input_gates.t(), input[t]));
    sums[1].add_(at::mm(gradient.hidden_gates.t(), before));
    if (cell.bias_ih) {
      sums[2].add_(gradient.input_gates.sum(0));
      sums[3].add_(gradient.hidden_gates.sum(0));
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) grad_params.at(cell.first + i).copy_(sums[i]);
  grad_h0.copy_(grad_h);
  return grad_input;
}

at::Tensor orZeros(const at::Tensor& tensor, const at::Tensor& like) {
  return tensor.defined() ? tensor : at::zeros_like(like);
}

// Calls `backward(order, index, input, grad_out)` from the last layer to the first and
// hands each layer's gradient down.
template <class Backward>
void layersBackward(const at::Tensor& input, const Tensors& hidden, const RecurrentLayers& shape,
                    const at::Tensor& grad_out, at::Tensor& grad_input, Backward backward) {
  const at::Tensor x = timeFirst(input, shape);
  at::Tensor above = grad_out.defined() ? timeFirst(grad_out, shape) : grad_out;
  for (int64_t layer = shape.layers; layer-- > 0;) {
    const at::Tensor own = inputOf(layer, x, hidden, shape);
    at::Tensor below = at::zeros_like(own);
    for (int64_t direction = 0; direction < directions(shape); ++direction) {
      const at::Tensor share =
          above.defined() ? above.chunk(directions(shape), -1)[direction] : above;
      const int64_t index = layer * directions(shape) + direction;
      below.add_(backward(orderOf(direction, shape), index, own, share));
    }
    above = below;
  }
  timeFirst(grad_input, shape).copy_(above);
}

}  // namespace

std::vector<int64_t> batchSizesOf(const std::optional<at::Tensor>& batch_sizes) {
  if (!batch_sizes || batch_sizes->numel() == 0) return {};
  const at::Tensor numbers = batch_sizes->to(at::kLong).contiguous();
  const auto* first = numbers.const_data_ptr<int64_t>();
  std::vector<int64_t> sizes(first, first + numbers.numel());
  TORCH_CHECK_VALUE(
      sizes.back() > 0 && std::is_sorted(sizes.begin(), sizes.end(), std::greater<>()),
      "expected batch sizes that are positive and do not grow");
  return sizes;
}

void lstm(const at::Tensor& input, const Tensors& params, const Tensors& states,
          const RecurrentLayers& shape, at::Tensor& out, at::Tensor& hy, at::Tensor& cy,
          LstmTrace trace) {
  at::Tensor layer_input = timeFirst(input, shape);
  const int64_t time = layer_input.size(0);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    Tensors outputs;
    for (int64_t direction = 0; direction < directions(shape); ++direction) {
      const int64_t index = layer * directions(shape) + direction;
      const Cell cell(params, shape, index);
      const at::Tensor gates_in = at::linear(layer_input, cell.weight_ih, cell.bias_ih);
      at::Tensor h = states.at(0)[index], c = states.at(1)[index];
      Tensors i(time), j(time), f(time), o(time), hs(time), cs(time), ts(time), ys(time);
      for (int64_t n = 0; n < time; ++n) {
        const int64_t t = stepAt(n, time, orderOf(direction, shape));
        const auto gates = gates_in[t].add(at::linear(h, cell.weight_hh, cell.bias_hh)).chunk(4, 1);
        i[t] = gates[0].sigmoid();
        f[t] = gates[1].sigmoid();
        j[t] = gates[2].tanh();
        o[t] = gates[3].sigmoid();
        const int64_t rows = rowsAt(t, h, shape);
        c = carried(f[t].mul(c).add(i[t].mul(j[t])), c, rows);
        ts[t] = c.tanh();
        h = carried(o[t].mul(ts[t]), h, rows);
        hs[t] = h;
        cs[t] = c;
        ys[t] = masked(h, rows);
      }
      outputs.push_back(at::stack(ys));
      keep(trace.input, index, at::stack(i));
      keep(trace.candidate, index, at::stack(j));
      keep(trace.forget, index, at::stack(f));
      keep(trace.output, index, at::stack(o));
      keep(trace.hidden, index, at::stack(hs));
      keep(trace.cell, index, at::stack(cs));
      keep(trace.activated_cell, index, at::stack(ts));
      hy[index].copy_(h);
      cy[index].copy_(c);
    }
    layer_input = at::cat(outputs, -1);
  }
  timeFirst(out, shape).copy_(layer_input);
}

void lstmBackward(const at::Tensor& input, const Tensors& states, const Tensors& params,
                  const at::Tensor& grad_out, const at::Tensor& grad_hy, const at::Tensor& grad_cy,
                  LstmTrace trace, const RecurrentLayers& shape, at::Tensor& grad_input,
                  at::Tensor& grad_hx, at::Tensor& grad_cx, Tensors& grad_params) {
  const at::Tensor &h0 = states.at(0), &c0 = states.at(1);
  const at::Tensor last_h = orZeros(grad_hy, h0), last_c = orZeros(grad_cy, c0);
  const auto backward = [&](int64_t direction, int64_t index, const at::Tensor& own,
                            const at::Tensor& share) {
    const Cell cell(params, shape, index);
    const int64_t time = own.size(0), batch = own.size(1), size = cell.weight_hh.size(1);
    const auto saved = [&](const Tensors& list) { return steps(list, index, {time, batch, size}); };
    const at::Tensor i = saved(trace.input), j = saved(trace.candidate), f = saved(trace.forget),
                     o = saved(trace.output), c = saved(trace.cell),
                     tanh_c = saved(trace.activated_cell);
    at::Tensor grad_c = last_c[index];
    const auto step = [&](int64_t t, int64_t n, const at::Tensor&, const at::Tensor& grad_h) {
      const at::Tensor before = n == 0 ? c0[index] : c[stepAt(n - 1, time, direction)];
      const at::Tensor into_c = grad_c.add(grad_h.mul(o[t]).mul(tanh_c[t].square().neg().add(1)));
      const at::Tensor gates = at::cat({into_c.mul(j[t]).mul(i[t]).mul(i[t].neg().add(1)),
                                        into_c.mul(before).mul(f[t]).mul(f[t].neg().add(1)),
                                        into_c.mul(i[t]).mul(j[t].square().neg().add(1)),
                                        grad_h.mul(tanh_c[t]).mul(o[t]).mul(o[t].neg().add(1))},
                                       1);
      grad_c = carried(into_c.mul(f[t]), grad_c, rowsAt(t, grad_c, shape));
      return StepGradient{gates, gates, at::zeros_like(grad_h)};
    };
    const at::Tensor below =
        cellBackward(cell, own, saved(trace.hidden), h0[index], share, last_h[index], direction,
                     shape, grad_params, grad_hx[index], step);
    grad_cx[index].copy_(grad_c);
    return below;
  };
  layersBackward(input, trace.hidden, shape, grad_out, grad_input, backward);
}

void gru(const at::Tensor& input, const Tensors& params, const at::Tensor& hx,
         const RecurrentLayers& shape, at::Tensor& out, at::Tensor& hy, GruTrace trace) {
  at::Tensor layer_input = timeFirst(input, shape);
  const int64_t time = layer_input.size(0);
  for (int64_t layer = 0; layer < shape.layers; ++layer) {
    Tensors outputs;
    for (int64_t direction = 0; direction < directions(shape); ++direction) {
      const int64_t index = layer * directions(shape) + direction;
      const Cell cell(params, shape, index);
      const at::Tensor gates_in = at::linear(layer_input, cell.weight_ih, cell.bias_ih);
      at::Tensor h = hx[index];
      Tensors r(time), z(time), n(time), hn(time), hs(time), ys(time);
      for (int64_t step = 0; step < time; ++step) {
        const int64_t t = stepAt(step, time, orderOf(direction, shape));
        const auto from_x = gates_in[t].chunk(3, 1);
        const auto from_h = at::linear(h, cell.weight_hh, cell.bias_hh).chunk(3, 1);
        r[t] = from_x[0].add(from_h[0]).sigmoid();
        z[t] = from_x[1].add(from_h[1]).sigmoid();
        hn[t] = from_h[2].contiguous();
        n[t] = from_x[2].add(r[t].mul(hn[t])).tanh();
        const int64_t rows = rowsAt(t, h, shape);
        h = carried(n[t].add(z[t].mul(h.sub(n[t]))), h, rows);
        hs[t] = h;
        ys[t] = masked(h, rows);
      }
      outputs.push_back(at::stack(ys));
      keep(trace.reset, index, at::stack(r));
      keep(trace.update, index, at::stack(z));
      keep(trace.candidate, index, at::stack(n));
      keep(trace.hidden_share, index, at::stack(hn));
      keep(trace.hidden, index, at::stack(hs));
      hy[index].copy_(h);
    }
    layer_input = at::cat(outputs, -1);
  }
  timeFirst(out, shape).copy_(layer_input);
}

void gruBackward(const at::Tensor& input, const Tensors& params, const at::Tensor& hx,
                 const at::Tensor& grad_out, const at::Tensor& grad_hy, GruTrace trace,
                 const RecurrentLayers& shape, at::Tensor& grad_input, at::Tensor& grad_hx,
                 Tensors& grad_params) {
  const at::Tensor last_h = orZeros(grad_hy, hx);
  const auto backward = [&](int64_t direction, int64_t index, const at::Tensor& own,
                            const at::Tensor& share) {
    const Cell cell(params, shape, index);
    const int64_t time = own.size(0), batch = own.size(1), size = cell.weight_hh.size(1);
    const auto saved = [&](const Tensors& list) { return steps(list, index, {time, batch, size}); };
    const at::Tensor r = saved(trace.reset), z = saved(trace.update), n = saved(trace.candidate),
                     hn = saved(trace.hidden_share);
    const auto step = [&](int64_t t, int64_t, const at::Tensor& before, const at::Tensor& grad_h) {
      const at::Tensor grad_n = grad_h.mul(z[t].neg().add(1)).mul(n[t].square().neg().add(1));
      const at::Tensor grad_z = grad_h.mul(before.sub(n[t])).mul(z[t]).mul(z[t].neg().add(1));
      const at::Tensor grad_r = grad_n.mul(hn[t]).mul(r[t]).mul(r[t].neg().add(1));
      return StepGradient{at::cat({grad_r, grad_z, grad_n}, 1),
                          at::cat({grad_r, grad_z, grad_n.mul(r[t])}, 1), grad_h.mul(z[t])};
    };
    return cellBackward(cell, own, saved(trace.hidden), hx[index], share, last_h[index], direction,
                        shape, grad_params, grad_hx[index], step);
  };
  layersBackward(input, trace.hidden, shape, grad_out, grad_input, backward);
}

namespace {

// PyTorch's four parameters: the transposed weights, the bias, and no second one.
Tensors separated(const DynamicWeights& weights, int64_t input_size) {
  const at::Tensor& weight = weights.weight;
  const int64_t hidden_size = weight.size(1) / 4;
  const at::Tensor none = at::zeros({weight.size(1)}, weight.options());
  const at::Tensor bias = weights.bias ? *weights.bias : none;
  if (weights.hidden) return {weight.t(), weights.hidden->t(), bias, none};
  TORCH_CHECK_VALUE(weight.size(0) == input_size + hidden_size, "expected a weight of ",
                    input_size + hidden_size, " rows, got ", weight.size(0));
  return {weight.narrow(0, 0, input_size).t(), weight.narrow(0, input_size, hidden_size).t(), bias,
          none};
}

// The same memory with a first dimension of size 1, for layers or steps, if that is missing.
at::Tensor asSteps(const at::Tensor& tensor) {
  return tensor.dim() == 2 ? tensor.unsqueeze(0) : tensor;
}

}  // namespace

RecurrentLayers dynamicLayer(const std::optional<at::Tensor>& mask, bool reversed) {
  RecurrentLayers shape{true, 1, false, false, {}, reversed};
  if (!mask || mask->dim() == 0) return shape;
  TORCH_CHECK_VALUE(mask->dim() == 3, "expected a mask of shape (time, batch, hidden), got ",
                    mask->sizes());
  const at::Tensor steps = mask->ne(0);
  const at::Tensor rows = steps.select(2, 0).sum(1);
  const at::Tensor expected = at::arange(mask->size(1)).lt(rows.unsqueeze(1)).unsqueeze(2);
  TORCH_CHECK_VALUE(at::equal(steps, expected.expand_as(steps)),
                    "expected a mask in which longer sequences come first");
  shape.batch_sizes = batchSizesOf(rows);
  return shape;
}

void dynamicRnn(const at::Tensor& input, const DynamicWeights& weights,
                const RecurrentLayers& shape, const at::Tensor& hx, const at::Tensor& cx,
                at::Tensor& out, LstmTrace trace) {
  at::Tensor hy = at::empty_like(asSteps(hx)), cy = at::empty_like(asSteps(cx));
  lstm(input, separated(weights, input.size(2)), {asSteps(hx), asSteps(cx)}, shape, out, hy, cy,
       trace);
}

void dynamicRnnBackward(const at::Tensor& input, const DynamicWeights& weights,
                        const RecurrentLayers& shape, const at::Tensor& hx, const at::Tensor& cx,
                        const at::Tensor& grad_out, const at::Tensor& grad_hy,
                        const at::Tensor& grad_cy, LstmTrace trace, DynamicWeights grad_weights,
                        at::Tensor& grad_input, at::Tensor& grad_hx, at::Tensor& grad_cx) {
  const at::Tensor x = asSteps(input);
  const Tensors params = separated(weights, x.size(2));
  Tensors grads;
  for (const at::Tensor& param : params) grads.push_back(at::empty_like(param));
  at::Tensor before_h = asSteps(grad_hx), before_c = asSteps(grad_cx), grad_x = asSteps(grad_input);
  lstmBackward(x, {asSteps(hx), asSteps(cx)}, params, grad_out, asSteps(grad_hy), asSteps(grad_cy),
               trace, shape, grad_x, before_h, before_c, grads);
  if (weights.hidden) {
    grad_weights.weight.copy_(grads[0].t());
    grad_weights.hidden->copy_(grads[1].t());
  } else {
    grad_weights.weight.copy_(at::cat({grads[0].t(), grads[1].t()}, 0));
  }
  grad_weights.bias->copy_(grads[2]);
}

}  // namespace softcann::aclnn
