// Numbers of few bits: quantising, packing, and products of quantised matrices.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace softcann::aclnn {

using OptionalTensorRef = const std::optional<at::Tensor>&;

// Eight int4 numbers in an int32, the first in the lowest bits; and back, as int8 numbers. The last
// dimension shrinks and grows by eight.
at::Tensor packInt4(const at::Tensor& numbers);
at::Tensor unpackInt4(const at::Tensor& packed);

// round(x / scale + zero_point), or round(x * scale + zero_point) if `multiply`, within out's
// range; packed if out is int32 and an eighth of x. Vectors lie along `axis`.
void quantize(const at::Tensor& x, const at::Tensor& scale, OptionalTensorRef zero_point,
              int64_t axis, bool multiply, std::string_view round_mode, at::Tensor& out);

struct DynamicQuantization {
  bool symmetric = true;
  std::string_view mode;  // "pertoken" (also ""), "pertensor" or "perchannel"
};
// x in int8 (or packed int4) with the scale, and the offset if not symmetric, that each row needs.
// `smooth` multiplies x; with `group_ends` (cumulative) each group of rows has a row of it.
void dynamicQuant(const at::Tensor& x, OptionalTensorRef smooth, OptionalTensorRef group_ends,
                  const DynamicQuantization& options, at::Tensor& y, at::Tensor& scale,
                  const at::Tensor& offset);

// A scale in the form that CANN gives to int64: the upper 19 bits of a float32, rounded to or cut.
at::Tensor plainScale(const at::Tensor& scale);
void transQuantParam(const at::Tensor& scale, OptionalTensorRef offset, bool rounds,
                     at::Tensor& out);

// (x1 @ x2 + bias) * scale * pertoken_scale + offset; a floating bias is added at the end. int32
// matrices hold packed int4.
void quantMatmul(const at::Tensor& x1, const at::Tensor& x2, const at::Tensor& scale,
                 OptionalTensorRef offset, OptionalTensorRef pertoken_scale, OptionalTensorRef bias,
                 bool transpose_x1, bool transpose_x2, at::Tensor& out);

struct QuantizedProduct {
  const at::Tensor& x1;
  const at::Tensor& x2;
  OptionalTensorRef x1_scale;
  const at::Tensor& x2_scale;
  OptionalTensorRef x2_offset;
  OptionalTensorRef y_offset;
  OptionalTensorRef bias;
  bool transpose_x1;
  bool transpose_x2;
  int64_t group_size;  // of rows, columns and the inner dimension: 16 bits each, from bit 32 down
};
// The above, and with scales of two dimensions the sum over groups of the inner dimension of
// (x1 @ (x2 - x2_offset)) * x1_scale * x2_scale, + bias. An int8 x1 with an int4 x2 is
// int8TimesInt4() * x1_scale. Tensors without elements are missing ones.
void groupQuantMatmul(const QuantizedProduct& call, at::Tensor& out);

// x @ (weight * scale) for int8 x and int4 weights as the card computes it: in nibbles of x, of
// which the lower one counts from -8. `assist` is what the caller adds for that, 8 times the column
// sums of weight * scale; without it the result lacks them.
at::Tensor int8TimesInt4(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                         const at::Tensor& assist, int64_t group_size);

// x @ ((weight + offset) * scale) + bias, then, if out is int8, * quant_scale + quant_offset.
void weightQuantMatmul(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                       OptionalTensorRef offset, OptionalTensorRef quant_scale,
                       OptionalTensorRef quant_offset, OptionalTensorRef bias, int64_t group_size,
                       at::Tensor& out);

// The weight itself: (weight + offset) * scale in float32, with a row of scale and offset for each
// `group_size` rows.
at::Tensor dequantizedWeight(const at::Tensor& weight, const at::Tensor& scale,
                             OptionalTensorRef offset, int64_t group_size);

// The values as out's dtype takes them: integers rounded and clamped, int32 possibly packed.
void storeRounded(const at::Tensor& values, at::Tensor& out);

}  // namespace softcann::aclnn
