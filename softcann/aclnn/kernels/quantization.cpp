#include "aclnn/kernels/quantization.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <limits>

#include "aclnn/kernels/common.h"

namespace softcann::aclnn {

namespace {

constexpr int64_t kPerWord = 8;
constexpr int64_t kBits = 4;

bool isPackedInto(const at::Tensor& out, at::IntArrayRef sizes) {
  return out.scalar_type() == at::kInt && !sizes.empty() && out.dim() > 0 &&
         out.size(-1) * kPerWord == sizes.back();
}

// The range of whole numbers that `out` holds for values of these sizes.
std::pair<double, double> rangeOf(const at::Tensor& out, at::IntArrayRef sizes) {
  if (isPackedInto(out, sizes)) return {-8, 7};
  switch (out.scalar_type()) {
    case at::kChar:
      return {-128, 127};
    case at::kByte:
      return {0, 255};
    case at::kInt:
      return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "quantising to ", out.scalar_type(),
                                  " is not supported; use int8, uint8 or int32");
  }
}

at::Tensor roundedBy(const at::Tensor& values, std::string_view mode) {
  if (mode == "round" || mode == "rint" || mode.empty()) return values.round();
  if (mode == "floor") return values.floor();
  if (mode == "ceil") return values.ceil();
  TORCH_CHECK_VALUE(mode == "trunc", "unknown round_mode '", mode, "'");
  return values.trunc();
}

void store(const at::Tensor& rounded, at::Tensor& out) {
  const auto [lowest, highest] = rangeOf(out, rounded.sizes());
  const at::Tensor whole = rounded.clamp(lowest, highest);
  out.copy_(isPackedInto(out, rounded.sizes()) ? packInt4(whole) : whole);
}

// A vector as something that broadcasts along `axis`.
at::Tensor along(const at::Tensor& vector, const at::Tensor& x, int64_t axis) {
  if (vector.dim() != 1 || vector.numel() == 1) {
    return vector;
  }
  TORCH_CHECK(x.dim() > 0, "expected a scalar for a tensor without dimensions, but got ",
              vector.numel(), " elements");
  std::vector<int64_t> sizes(static_cast<size_t>(x.dim()), 1);
  sizes[static_cast<size_t>(at::maybe_wrap_dim(axis, x.dim()))] = vector.numel();
  return vector.view(sizes);
}

// int8 and packed int4 matrices in float64, in which their products are exact.
at::Tensor exact(const at::Tensor& matrix) {
  return (matrix.scalar_type() == at::kInt ? unpackInt4(matrix) : matrix).to(at::kDouble);
}

}  // namespace

at::Tensor packInt4(const at::Tensor& numbers) {
  TORCH_CHECK(numbers.dim() > 0 && numbers.size(-1) % kPerWord == 0,
              "expected a last dimension divisible by ", kPerWord, ", but got ", numbers.sizes());
  const at::Tensor nibbles = numbers.to(at::kLong).bitwise_and(15).unflatten(-1, {-1, kPerWord});
  const at::Tensor places = at::arange(0, kBits * kPerWord, kBits, nibbles.options());
  return nibbles.bitwise_left_shift(places).sum(-1).to(at::kInt);
}

at::Tensor unpackInt4(const at::Tensor& packed) {
  const at::Tensor places = at::arange(0, kBits * kPerWord, kBits, packed.options());
  const at::Tensor nibbles = packed.unsqueeze(-1).bitwise_right_shift(places).bitwise_and(15);
  return nibbles.sub(nibbles.ge(8).to(at::kInt).mul(16)).to(at::kChar).flatten(-2);
}

void quantize(const at::Tensor& x, const at::Tensor& scale, OptionalTensorRef zero_point,
              int64_t axis, bool multiply, std::string_view round_mode, at::Tensor& out) {
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor factor = along(scale.to(at::kFloat), x, axis);
  at::Tensor values = multiply ? wide.mul(factor) : wide.div(factor);
  if (!multiply) {
    values = roundedBy(values, round_mode);
  }
  if (zero_point.has_value()) {
    values = values.add(along(zero_point->to(at::kFloat), x, axis));
  }
  store(roundedBy(values, round_mode), out);
}

void dynamicQuant(const at::Tensor& x, OptionalTensorRef smooth, OptionalTensorRef group_ends,
                  const DynamicQuantization& options, at::Tensor& y, at::Tensor& scale,
                  const at::Tensor& offset) {
  at::Tensor values = x.to(at::kFloat);
  if (smooth.has_value()) {
    at::Tensor factor = smooth->to(at::kFloat);
    if (group_ends.has_value()) {
      const at::Tensor rows = values.reshape({-1, values.size(-1)});
      const at::Tensor ends = group_ends->to(at::kLong);
      const at::Tensor row = at::arange(rows.size(0), ends.options());
      const at::Tensor group = row.unsqueeze(1).ge(ends.unsqueeze(0)).sum(1);
      factor = factor.index_select(0, group.clamp_max(factor.size(0) - 1)).view(values.sizes());
    }
    values = values.mul(factor);
  }
  const auto [lowest, highest] = rangeOf(y, values.sizes());
  std::vector<int64_t> dims = {-1};
  if (options.mode == "pertensor") {
    dims.clear();
    for (int64_t dim = 0; dim < values.dim(); ++dim) dims.push_back(dim);
  } else if (options.mode == "perchannel") {
    dims = {-2};
  } else {
    TORCH_CHECK_VALUE(options.mode.empty() || options.mode == "pertoken", "unknown quant_mode '",
                      options.mode, "'");
  }
  at::Tensor steps;
  at::Tensor shift;
  if (options.symmetric) {
    steps = values.abs().amax(dims, /*keepdim=*/true).div_(highest);
  } else {
    const at::Tensor top = values.amax(dims, /*keepdim=*/true);
    steps = top.sub(values.amin(dims, /*keepdim=*/true)).div_(highest - lowest);
    shift = top.div(steps.masked_fill(steps.eq(0), 1)).neg_().add_(highest);
  }
  at::Tensor quotient = values.div(steps.masked_fill(steps.eq(0), 1));
  if (shift.defined()) {
    quotient = quotient.add(shift);
    give(offset, shift.view(offset.sizes()));
  }
  store(quotient.round(), y);
  scale.copy_(steps.view(scale.sizes()));
}

at::Tensor plainScale(const at::Tensor& scale) {
  const at::ScalarType type = scale.scalar_type();
  if (type != at::kLong && type != at::kUInt64) {
    return scale.to(at::kFloat);
  }
  return scale.view(at::kLong).bitwise_and(0xffffffffLL).to(at::kInt).view(at::kFloat);
}

void transQuantParam(const at::Tensor& scale, OptionalTensorRef offset, bool rounds,
                     at::Tensor& out) {
  // The product unit reads the upper 19 bits of a float32; bit 46 marks the form, and a 9-bit
  // offset stands at bit 37.
  at::Tensor bits = scale.contiguous().view(at::kInt).to(at::kLong).bitwise_and(0xffffffffLL);
  if (rounds) {  // halves to the even number
    bits = bits.add(bits.bitwise_right_shift(13).bitwise_and(1)).add_(0xfff);
  }
  bits = bits.bitwise_and(0xffffe000LL).bitwise_or(int64_t{1} << 46);
  if (offset.has_value()) {
    const at::Tensor nine = offset->round().clamp(-256, 255).to(at::kLong).bitwise_and(511);
    bits = bits.bitwise_or(nine.bitwise_left_shift(37));
  }
  out.view(at::kLong).copy_(bits);
}

void storeRounded(const at::Tensor& values, at::Tensor& out) {
  if (at::isFloatingType(out.scalar_type())) {
    out.copy_(values);
  } else {
    store(values.round(), out);
  }
}

namespace {

// A matrix of int8 or packed int4 numbers. One that was transposed after packing has its packed
// dimension first.
at::Tensor exactMatrix(const at::Tensor& packed, bool transpose) {
  const bool turned = packed.scalar_type() == at::kInt && packed.dim() >= 2 &&
                      packed.stride(-2) == 1 && packed.stride(-1) != 1;
  const at::Tensor plain =
      turned ? exact(packed.transpose(-2, -1)).transpose(-2, -1) : exact(packed);
  return transpose ? plain.transpose(-2, -1) : plain;
}

bool given(OptionalTensorRef tensor) { return tensor.has_value() && tensor->numel() > 0; }

}  // namespace

void quantMatmul(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& scale,
                 OptionalTensorRef offset, OptionalTensorRef pertoken_scale, OptionalTensorRef bias,
                 bool transpose_x1, bool transpose_x2, at::Tensor& out) {
  at::Tensor product = at::matmul(exactMatrix(x1, transpose_x1), exactMatrix(x2, transpose_x2));
  const bool whole_bias = bias.has_value() && bias->scalar_type() == at::kInt;
  if (whole_bias) {
    product.add_(*bias);
  }
  if (out.scalar_type() == at::kInt) {
    out.copy_(product);
    return;
  }
  product.mul_(plainScale(scale));
  if (pertoken_scale.has_value()) {
    product.mul_(pertoken_scale->unsqueeze(-1));
  }
  if (offset.has_value()) {
    product.add_(*offset);
  }
  if (bias.has_value() && !whole_bias) {
    product.add_(*bias);
  }
  storeRounded(product, out);
}

namespace {

// How many of `size` share one of `scales` scales; `wanted` is what the caller says, 0 for nothing.
int64_t sizeOfGroups(int64_t size, int64_t scales, int64_t wanted, const char* which) {
  const int64_t group = wanted != 0 ? wanted : (size + scales - 1) / scales;
  TORCH_CHECK(group > 0 && (size + group - 1) / group == scales, "expected ", which,
              " scales for groups of ", group, " of ", size, ", but got ", scales);
  return group;
}

// One scale for each of `size` along `dim`, from one for each group.
at::Tensor spreadOver(const at::Tensor& scale, int64_t dim, int64_t size, int64_t wanted,
                      const char* which) {
  const int64_t group = sizeOfGroups(size, scale.size(dim), wanted, which);
  return group == 1 ? scale : scale.repeat_interleave(group, dim).narrow(dim, 0, size);
}

// The sum over the groups of the inner dimension.
at::Tensor sumOfGroups(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& x1_scale,
                       const at::Tensor& x2_scale, OptionalTensorRef x2_offset,
                       int64_t group_size) {
  constexpr int64_t kField = 0xffff;
  const int64_t inner = x1.size(-1);
  const int64_t groups = x2_scale.size(-2);
  const int64_t group = sizeOfGroups(inner, groups, group_size & kField, "x2's");
  TORCH_CHECK(x1_scale.size(-1) == 1 || x1_scale.size(-1) == groups, "expected ", groups,
              " scales for each row of x1, or one, but got ", x1_scale.sizes());
  const at::Tensor rows =
      spreadOver(x1_scale.to(at::kDouble), -2, x1.size(-2), group_size >> 32 & kField, "x1's");
  const at::Tensor columns = spreadOver(plainScale(x2_scale).to(at::kDouble), -1, x2.size(-1),
                                        group_size >> 16 & kField, "x2's");
  at::Tensor sum;
  for (int64_t i = 0; i < groups; ++i) {
    const int64_t first = i * group;
    const int64_t size = std::min(group, inner - first);
    at::Tensor weight = x2.narrow(-2, first, size);
    if (given(x2_offset)) {
      weight = weight.sub(x2_offset->select(-2, i).unsqueeze(-2).to(at::kDouble));
    }
    const at::Tensor part = at::matmul(x1.narrow(-1, first, size), weight)
                                .mul_(rows.narrow(-1, rows.size(-1) == 1 ? 0 : i, 1))
                                .mul_(columns.narrow(-2, i, 1));
    sum = sum.defined() ? sum.add_(part) : part;
  }
  return sum;
}

}  // namespace

void groupQuantMatmul(const QuantizedProduct& call, at::Tensor& out) {
  constexpr int64_t kField = 0xffff;
  const auto orNone = [](OptionalTensorRef tensor) {
    return given(tensor) ? tensor : std::optional<at::Tensor>();
  };
  const std::optional<at::Tensor> x1_scale = orNone(call.x1_scale), bias = orNone(call.bias);
  const bool nibbles = call.x1.scalar_type() == at::kChar && call.x2.scalar_type() == at::kInt;
  const bool in_groups = call.x2_scale.dim() >= 2 && x1_scale.has_value() && x1_scale->dim() >= 2;
  TORCH_CHECK(nibbles || !given(call.y_offset),
              "y_offset belongs to an int8 x1 with an int4 x2 only");
  if (!nibbles && !in_groups) {
    quantMatmul(call.x1, call.x2, call.x2_scale, orNone(call.x2_offset), x1_scale, bias,
                call.transpose_x1, call.transpose_x2, out);
    return;
  }
  TORCH_CHECK(x1_scale.has_value(), "expected scales for the rows of x1");
  const at::Tensor x1 = exactMatrix(call.x1, call.transpose_x1);
  const at::Tensor x2 = exactMatrix(call.x2, call.transpose_x2);
  at::Tensor product;
  if (nibbles) {
    const at::Tensor assist = given(call.y_offset) ? *call.y_offset : at::Tensor();
    product = int8TimesInt4(x1, x2, call.x2_scale, assist, call.group_size & kField);
    product = product.mul(x1_scale->reshape({-1, 1}));
  } else {
    // The scales of int8 blocks are transposed with x2; those of int4 groups never are.
    const bool turned = call.transpose_x2 && call.x2.scalar_type() == at::kChar;
    product =
        sumOfGroups(x1, x2, *x1_scale, turned ? call.x2_scale.transpose(-2, -1) : call.x2_scale,
                    call.x2_offset, call.group_size);
  }
  storeRounded(bias.has_value() ? product.add(*bias) : product, out);
}

at::Tensor int8TimesInt4(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                         const at::Tensor& assist, int64_t group_size) {
  constexpr int64_t kLowest = 8;
  int64_t group = group_size;
  if (scale.dim() >= 2 && scale.size(-2) > 1) {
    group = sizeOfGroups(weight.size(-2), scale.size(-2), group_size, "the weight's");
  }
  const at::Tensor plain = dequantizedWeight(weight, scale, std::nullopt, group);
  const at::Tensor product = at::matmul(x.to(at::kFloat).sub(kLowest), plain);
  return assist.defined() ? product.add(assist) : product;
}

at::Tensor dequantizedWeight(const at::Tensor& weight, const at::Tensor& scale,
                             OptionalTensorRef offset, int64_t group_size) {
  const auto spread = [&](const at::Tensor& parameter) {
    const at::Tensor wide = plainScale(parameter);
    if (group_size <= 0 || wide.dim() < 2 || wide.size(-2) == 1) {
      return wide;
    }
    return wide.repeat_interleave(group_size, -2).narrow(-2, 0, weight.size(-2));
  };
  at::Tensor plain = weight.to(at::kFloat);
  if (offset.has_value()) {
    plain = plain.add(spread(*offset));
  }
  return plain.mul(spread(scale));
}

void weightQuantMatmul(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                       OptionalTensorRef offset, OptionalTensorRef quant_scale,
                       OptionalTensorRef quant_offset, OptionalTensorRef bias, int64_t group_size,
                       at::Tensor& out) {
  at::Tensor plain = weight;
  if (weight.scalar_type() == at::kInt) {
    const bool turned = weight.stride(-2) == 1 && weight.stride(-1) != 1;
    plain = turned ? unpackInt4(weight.transpose(-2, -1)).transpose(-2, -1) : unpackInt4(weight);
  }
  at::Tensor product =
      at::matmul(x.to(at::kFloat), dequantizedWeight(plain, scale, offset, group_size));
  if (bias.has_value()) {
    product.add_(*bias);
  }
  if (quant_scale.has_value()) {
    product.mul_(plainScale(*quant_scale));
    if (quant_offset.has_value()) {
      product.add_(*quant_offset);
    }
  }
  storeRounded(product, out);
}

}  // namespace softcann::aclnn
