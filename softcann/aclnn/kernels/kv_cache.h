// Caches of keys and values in blocks: tokens go to and come from slots, slot = block * size +
// place.
//
// A cache is (blocks, block size, ...), or in NZ (blocks, pieces, block size, piece): a token's
// elements cut into pieces of one width.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace softcann::aclnn {

enum class CacheFormat { kPlain, kPieces };

// "PA_NZ" for pieces; "Norm" or nothing.
CacheFormat cacheFormat(std::optional<std::string_view> mode);

// The token of each slot; slots below 0 are left out.
void scatterTokens(const at::Tensor& tokens, const at::Tensor& slots, CacheFormat format,
                   at::Tensor& cache);

struct GatherOptions {
  std::optional<at::Tensor> first;  // of each sequence: a token at a block's start; missing: 0
  CacheFormat format = CacheFormat::kPlain;
  bool cumulative = false;  // lengths has the sum of those before at each place, from 0 on
};

// The tokens of one sequence after another from the blocks of its row of the table. What lies in no
// block is zero.
void gatherTokens(const at::Tensor& cache, const at::Tensor& block_table, const at::Tensor& lengths,
                  const GatherOptions& options, at::Tensor& tokens);

}  // namespace softcann::aclnn
