#include "aclnn/kernels/gated_variants.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include <string_view>
#include <utility>

#include "aclnn/kernels/compute_type.h"
#include "aclnn/kernels/quantization.h"

namespace softcann::aclnn {

namespace {

using Parts = std::pair<at::Tensor, at::Tensor>;

Parts halves(const at::Tensor& x, int64_t dim) {
  const int64_t size = x.size(dim);
  TORCH_CHECK(size % 2 == 0, "expected an even size in dimension ", dim, ", but got ", x.sizes());
  return {x.narrow(dim, 0, size / 2), x.narrow(dim, size / 2, size / 2)};
}

Parts evenAndOdd(const at::Tensor& rows) {
  TORCH_CHECK(rows.size(-1) % 2 == 0, "expected rows of an even size, but got ", rows.sizes());
  return {rows.slice(-1, 0, std::nullopt, 2), rows.slice(-1, 1, std::nullopt, 2)};
}

at::Tensor clamped(const Parts& parts, const ClampedGate& gate) {
  const at::Tensor a = parts.first.clamp_max(gate.limit);
  const at::Tensor b = parts.second.clamp(-gate.limit, gate.limit);
  return a.mul(at::sigmoid(a.mul(gate.alpha))).mul_(b.add(gate.bias));
}

// The group of each row; the number of groups for rows beyond all.
at::Tensor groupOfRows(const at::Tensor& groups, int64_t rows) {
  const at::Tensor ends = groups.flatten().to(at::kLong).cumsum(0);
  return at::arange(rows, ends.options()).unsqueeze(1).ge(ends.unsqueeze(0)).sum(1);
}

// A row of `parameters`, (n) or (groups, n), for each row of x.
at::Tensor ofRows(const at::Tensor& parameters, const at::Tensor& group, int64_t size,
                  const char* name) {
  const at::Tensor table =
      parameters.to(at::kFloat).dim() == 1 ? parameters.unsqueeze(0) : parameters;
  TORCH_CHECK(table.dim() == 2 && table.size(1) == size, "expected ", name, " of (groups, ", size,
              "), but got ", parameters.sizes());
  return table.to(at::kFloat).index_select(0, group.clamp_max(table.size(0) - 1));
}

std::string_view approximationName(int64_t approximate) {
  TORCH_CHECK(approximate == 0 || approximate == 1, "expected approximate 0 or 1, but got ",
              approximate);
  return approximate == 1 ? "tanh" : "none";
}

}  // namespace

void clippedSwiGlu(const at::Tensor& x, const std::optional<at::Tensor>& groups, int64_t dim,
                   const ClampedGate& gate, bool interleaved, at::Tensor& out) {
  const int64_t axis = at::maybe_wrap_dim(dim, x.dim());
  const auto before = static_cast<size_t>(axis);
  const int64_t count = c10::multiply_integers(x.sizes().slice(0, before));
  const at::Tensor rows =
      x.to(computeType(x)).reshape({count, c10::multiply_integers(x.sizes().slice(before))});
  at::Tensor result = clamped(interleaved ? evenAndOdd(rows) : halves(rows, 1), gate);
  if (groups.has_value()) {
    const at::Tensor row = at::arange(count, groups->options().dtype(at::kLong));
    result.masked_fill_(row.ge(groups->to(at::kLong).sum()).unsqueeze(1), 0);
  }
  out.copy_(result.view(out.sizes()));
}

void dequantSwiGluQuant(const at::Tensor& x, const DequantSwiGlu& call, at::Tensor& y,
                        at::Tensor& scale) {
  TORCH_CHECK(x.dim() >= 1 && x.size(-1) % 2 == 0,
              "expected x with an even last dimension, but got ", x.sizes());
  const int64_t size = x.size(-1);
  at::Tensor rows = x.reshape({-1, size});
  const int64_t count = rows.size(0);
  if (call.bias.has_value()) {
    TORCH_CHECK(call.bias->scalar_type() == at::kInt && rows.scalar_type() == at::kInt,
                "expected a bias in int32 for x in int32, but got ", call.bias->scalar_type(),
                " and ", rows.scalar_type());
    rows = rows.add(*call.bias);
  }
  rows = rows.to(at::kFloat);
  const at::Tensor group = call.groups.has_value()
                               ? groupOfRows(*call.groups, count)
                               : at::arange(count, rows.options().dtype(at::kLong)).zero_();
  if (call.weight_scale.has_value()) {
    rows = rows.mul(ofRows(*call.weight_scale, group, size, "weight_scale"));
  }
  if (call.activation_scale.has_value()) {
    TORCH_CHECK(call.activation_scale->numel() == count, "expected activation_scale for ", count,
                " rows, but got ", call.activation_scale->sizes());
    rows = rows.mul(call.activation_scale->to(at::kFloat).reshape({count, 1}));
  }
  Parts parts = call.mode == 1 ? evenAndOdd(rows) : halves(rows, 1);
  if (call.mode != 1 && !call.activate_left) {
    std::swap(parts.first, parts.second);
  }
  at::Tensor result =
      call.mode == 0 ? at::silu(parts.first).mul_(parts.second) : clamped(parts, call.gate);
  if (call.groups.has_value()) {
    result.masked_fill_(group.ge(call.groups->numel()).unsqueeze(1), 0);
  }
  if (call.smooth.has_value()) {
    result = result.mul(ofRows(*call.smooth, group, size / 2, "quant_scale"));
  }
  at::Tensor values = y.view(result.sizes());
  at::Tensor steps = scale.view({count});
  dynamicQuant(result, std::nullopt, std::nullopt, {}, values, steps, at::Tensor());
}

void geGlu(const at::Tensor& x, int64_t dim, int64_t approximate, bool activate_left,
           at::Tensor& out, at::Tensor& gelu) {
  const at::ScalarType type = computeType(x);
  auto [first, second] = halves(x.to(type), dim);
  if (!activate_left) std::swap(first, second);
  const at::Tensor activated = at::gelu(first, approximationName(approximate));
  gelu.copy_(activated);
  out.copy_(activated.mul(second));
}

void geGluGrad(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& gelu, int64_t dim,
               int64_t approximate, bool activate_left, at::Tensor& out) {
  const at::ScalarType type = computeType(x);
  auto [first, second] = halves(x.to(type), dim);
  if (!activate_left) std::swap(first, second);
  const at::Tensor wide = grad.to(type);
  const at::Tensor into_first =
      at::gelu_backward(wide.mul(second), first, approximationName(approximate));
  const at::Tensor into_second = wide.mul(gelu.to(type));
  out.copy_(activate_left ? at::cat({into_first, into_second}, dim)
                          : at::cat({into_second, into_first}, dim));
}

}  // namespace softcann::aclnn
