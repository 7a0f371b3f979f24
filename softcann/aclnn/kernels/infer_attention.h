// CANN's attention for inference: FusedInferAttentionScore and its relatives.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "aclnn/kernels/antiquant.h"

namespace softcann::aclnn {

// Options that a variant lacks keep their defaults.
struct InferAttention {
  const at::Tensor& query;
  // One tensor for the whole batch, one tensor a sequence, or the cache that block_table indexes.
  at::TensorList key;
  at::TensorList value;
  std::optional<at::Tensor> position_bias;
  std::optional<at::Tensor> mask;
  at::OptionalIntArrayRef query_lengths;  // cumulative if the layout is packed
  at::OptionalIntArrayRef key_lengths;    // likewise, unless there is a block table
  std::optional<at::Tensor> block_table;  // (batch, blocks): which blocks of the cache
  std::optional<at::Tensor> query_rope;   // continues the query's head size
  std::optional<at::Tensor> key_rope;
  std::optional<at::Tensor> sink;
  int64_t heads = 1;
  int64_t key_heads = 0;  // 0: as many as heads
  double scale = 1.0;
  int64_t pre_tokens = INT64_MAX;
  int64_t next_tokens = INT64_MAX;
  int64_t sparse_mode = 0;
  std::string_view layout;  // of the input; after an underscore that of the output
  int64_t block_size = 0;
  bool wants_logsumexp = false;
  // How far the last token lies from the end of its row, one number for all; for rows without
  // padding in front, missing.
  std::optional<at::Tensor> query_padding;
  std::optional<at::Tensor> key_padding;
  // (1, ...): tokens that precede the keys of every sequence, and how many of them count.
  std::optional<at::Tensor> key_prefix;
  std::optional<at::Tensor> value_prefix;
  at::OptionalIntArrayRef prefix_length;
  Antiquantization key_antiquant;
  Antiquantization value_antiquant;
  std::optional<at::Tensor> query_scale;  // of a query in int8: one for each token and head
  // A result in int8 is round(out * out_scale + out_offset): one number, or one for each head and
  // element of it.
  std::optional<at::Tensor> out_scale;
  std::optional<at::Tensor> out_offset;
};

// logsumexp is (B, N, S, 1) or, packed, (T, N, 1); (1) and zero if it is not wanted.
void inferAttention(const InferAttention& call, at::Tensor& out, const at::Tensor& logsumexp);

// Refuses parts of a call that are not supported, by their names.
void refuse(std::initializer_list<std::pair<const char*, const std::optional<at::Tensor>&>> parts);

// The tokens of one sequence, (key heads, length, size), from a cache of blocks: (blocks, block
// size, heads * size), (blocks, block size, heads, size), (blocks, heads, block size, size) or
// (blocks, heads, size / 16, block size, 16).
at::Tensor gatherBlocks(const at::Tensor& cache, const at::Tensor& blocks, int64_t length,
                        int64_t key_heads, int64_t block_size);

}  // namespace softcann::aclnn
