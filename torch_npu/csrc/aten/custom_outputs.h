// How operators that PyTorch does not have make their outputs (see outputs.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>
#include <vector>

#include "torch_npu/csrc/aten/outputs.h"

namespace torch_npu::shapes {

// As sized(). Sizes that are symbols of torch.compile are not guarded on: the output has them too,
// and one graph serves all sizes. Functions here ask tensors for sym_size() for the same reason.
at::Tensor sizedBy(c10::SymIntArrayRef sizes, const at::Tensor& device_of,
                   std::optional<at::ScalarType> dtype = std::nullopt);

// float32, or float64 for float64: the dtype of statistics and of parameters' gradients.
at::ScalarType computeType(const at::Tensor& tensor);
// Sizes of `x` with 1 for the last dimensions, as many as `gamma` has, in computeType(x).
at::Tensor overLastDims(const at::Tensor& x, const at::Tensor& gamma);

// Attention for inference: the output in the layout after the underscore, if there is one, and the
// logsumexp that goes with it.
at::Tensor inferAttention(const at::Tensor& query, const at::Tensor& value,
                          const std::optional<at::Tensor>& block_table, std::string_view layout,
                          int64_t heads, int64_t key_heads, at::ScalarType dtype);
// The output's dtype: int8 with a scale to quantise it, else the query's (that of its rotary part
// for a query in int8).
at::ScalarType inferredType(const at::Tensor& query, const std::optional<at::Tensor>& query_rope,
                            const std::optional<at::Tensor>& quant_scale);
at::Tensor inferLogsumexp(const at::Tensor& query, std::string_view layout, int64_t heads,
                          bool wanted);
// Attention for training: the output, and statistics of eight copies a value.
at::Tensor trainedAttention(const at::Tensor& query, const at::Tensor& value, int64_t heads,
                            std::string_view layout, const at::Tensor& key);
at::Tensor attentionStatistics(const at::Tensor& query, int64_t heads, std::string_view layout);

// x with another last dimension, at most as long.
at::Tensor lastDim(const at::Tensor& x, int64_t size,
                   std::optional<at::ScalarType> dtype = std::nullopt);

// Mixtures of experts.
at::Tensor routedTokens(const at::Tensor& x, const at::Tensor& experts, int64_t active,
                        int64_t expert_num, int64_t capacity, int64_t drop_pad_mode,
                        int64_t quant_mode);
at::Tensor expertCounts(const at::Tensor& x, int64_t expert_num, int64_t count_type,
                        at::IntArrayRef range);
at::Tensor finalizedTokens(const at::Tensor& expanded, const std::optional<at::Tensor>& scales,
                           const at::Tensor& positions, std::optional<int64_t> k);
at::Tensor permutedTokens(const at::Tensor& tokens, const at::Tensor& indices,
                          std::optional<int64_t> wanted);
at::Tensor unpermutedTokens(const at::Tensor& permuted, const at::Tensor& sorted_indices,
                            const std::optional<at::Tensor>& probs);

// Quantising: dtypes are torch's numbers, or CANN's plus 256; int4 is packed into int32.
at::Tensor quantized(const char* op, const at::Tensor& x, std::optional<int64_t> dtype);
at::Tensor packedInt4(const char* op, const at::Tensor& x);
at::Tensor quantizationScale(const at::Tensor& x, std::string_view mode);
at::Tensor quantizedProduct(const at::Tensor& x1, const at::Tensor& x2,
                            std::optional<int64_t> dtype);
at::Tensor weightQuantizedProduct(const at::Tensor& x, const at::Tensor& weight,
                                  const std::optional<at::Tensor>& quant_scale);
std::vector<at::Tensor> groupedProducts(at::TensorList x, at::TensorList weight,
                                        const std::optional<at::Tensor>& groups,
                                        std::optional<int64_t> split_item,
                                        std::optional<int64_t> group_type,
                                        std::optional<int64_t> dtype);

// Half of dimension `dim`.
at::Tensor halved(const at::Tensor& self, int64_t dim);

}  // namespace torch_npu::shapes
