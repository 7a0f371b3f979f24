// Keys and values that attention reads as int8, or as int4 packed in int32, with their scales.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

namespace softcann::aclnn {

// What a number stands for: (number + offset) * scale. CANN's numbers for how many of them share a
// scale:
enum class ScaleOf : int64_t {
  kChannel = 0,           // heads * size of them, or one for all numbers
  kToken = 1,             // (batch, length)
  kHead = 2,              // (heads)
  kTokenAndHead = 3,      // (batch, heads, length)
  kPagedToken = 4,        // (blocks, block size)
  kPagedTokenAndHead = 5  // (blocks, heads, block size)
};

struct Antiquantization {
  std::optional<at::Tensor> scale;  // missing: the numbers stand for themselves
  std::optional<at::Tensor> offset;
  int64_t mode = 0;
};

// From CANN's arguments: those of key or value alone count before those of both, of which row
// `which` is meant.
Antiquantization antiquantization(const std::optional<at::Tensor>& own_scale,
                                  const std::optional<at::Tensor>& own_offset, int64_t own_mode,
                                  const std::optional<at::Tensor>& both_scale,
                                  const std::optional<at::Tensor>& both_offset, int64_t both_mode,
                                  int64_t which);

// Where a sequence's tokens come from.
struct TokenPlaces {
  int64_t sequence;   // in the batch
  int64_t first;      // token of it
  at::Tensor blocks;  // of the cache; undefined without a block table
  int64_t block_size;
};

// One sequence's numbers (heads, length, size) as what they stand for, in float32.
at::Tensor dequantized(const at::Tensor& numbers, const Antiquantization& antiquant,
                       const TokenPlaces& places);

}  // namespace softcann::aclnn
