#include "aclnn/kernels/antiquant.h"

#include <c10/util/Exception.h>

namespace softcann::aclnn {

namespace {

std::optional<at::Tensor> rowOf(const std::optional<at::Tensor>& both, int64_t which) {
  if (!both.has_value()) {
    return std::nullopt;
  }
  TORCH_CHECK(both->dim() >= 1 && both->size(0) == 2,
              "expected antiquant_scale and antiquant_offset to begin with a dimension of 2, for "
              "key and value, but got ",
              both->sizes());
  return both->select(0, which);
}

// One parameter for each token of the sequence, in its order, from the cache's blocks.
at::Tensor gathered(const at::Tensor& parameters, const TokenPlaces& places, int64_t length) {
  TORCH_CHECK(places.blocks.defined(), "scales in blocks need a block table");
  const int64_t used = (length + places.block_size - 1) / places.block_size;
  const at::Tensor own = parameters.index_select(0, places.blocks.narrow(0, 0, used));
  return own.movedim(0, -2).flatten(-2).narrow(-1, 0, length);
}

void check(bool fits, const at::Tensor& parameters, const char* expected, int64_t mode) {
  TORCH_CHECK(fits, "expected scales and offsets of ", expected, " for the quantisation mode ",
              mode, ", but got ", parameters.sizes());
}

// Something that broadcasts to (heads, length, size).
at::Tensor spread(const at::Tensor& parameters, const at::Tensor& numbers, int64_t mode,
                  const TokenPlaces& places) {
  const int64_t heads = numbers.size(0), length = numbers.size(1), size = numbers.size(2);
  const at::Tensor wide = parameters.to(at::kFloat);
  switch (static_cast<ScaleOf>(mode)) {
    case ScaleOf::kChannel:
      check(wide.numel() == 1 || wide.numel() == heads * size, wide, "one or heads * size numbers",
            mode);
      return wide.numel() == 1 ? wide.reshape({1, 1, 1}) : wide.reshape({heads, 1, size});
    case ScaleOf::kToken: {
      check(wide.dim() >= 2 && wide.size(-2) > places.sequence &&
                wide.size(-1) >= places.first + length,
            wide, "(batch, length)", mode);
      const at::Tensor rows = wide.flatten(0, -2).select(0, places.sequence);
      return rows.narrow(0, places.first, length).view({1, length, 1});
    }
    case ScaleOf::kHead:
      check(wide.numel() == heads, wide, "(heads)", mode);
      return wide.reshape({heads, 1, 1});
    case ScaleOf::kTokenAndHead:
      check(wide.dim() == 3 && wide.size(0) > places.sequence && wide.size(1) == heads &&
                wide.size(2) >= places.first + length,
            wide, "(batch, heads, length)", mode);
      return wide.select(0, places.sequence).narrow(1, places.first, length).unsqueeze(-1);
    case ScaleOf::kPagedToken:
      check(wide.dim() == 2, wide, "(blocks, block size)", mode);
      return gathered(wide, places, length).view({1, length, 1});
    case ScaleOf::kPagedTokenAndHead:
      check(wide.dim() == 3 && wide.size(1) == heads, wide, "(blocks, heads, block size)", mode);
      return gathered(wide, places, length).unsqueeze(-1);
  }
  TORCH_CHECK_VALUE(false, "expected a quantisation mode from 0 to 5, but got ", mode);
}

}  // namespace

Antiquantization antiquantization(const std::optional<at::Tensor>& own_scale,
                                  const std::optional<at::Tensor>& own_offset, int64_t own_mode,
                                  const std::optional<at::Tensor>& both_scale,
                                  const std::optional<at::Tensor>& both_offset, int64_t both_mode,
                                  int64_t which) {
  if (own_scale.has_value()) {
    return {own_scale, own_offset, own_mode};
  }
  TORCH_CHECK(!own_offset.has_value() && (both_scale.has_value() || !both_offset.has_value()),
              "expected no quantisation offset of keys and values without their scale");
  return {rowOf(both_scale, which), rowOf(both_offset, which), both_mode};
}

at::Tensor dequantized(const at::Tensor& numbers, const Antiquantization& antiquant,
                       const TokenPlaces& places) {
  TORCH_CHECK(numbers.scalar_type() == at::kChar, "expected keys and values in int8, or in int4 ",
              "packed in int32, with antiquantisation scales, but got ", numbers.scalar_type());
  at::Tensor result = numbers.to(at::kFloat);
  if (antiquant.offset.has_value()) {
    result.add_(spread(*antiquant.offset, numbers, antiquant.mode, places));
  }
  return result.mul_(spread(*antiquant.scale, numbers, antiquant.mode, places));
}

}  // namespace softcann::aclnn
