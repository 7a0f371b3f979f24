// Checks and conversions of the arguments of operators that PyTorch does not have (see
// arguments.h). Checks raise errors with the operator's and the argument's name.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <initializer_list>
#include <optional>
#include <string_view>

#include "torch_npu/csrc/aten/descriptors.h"

namespace torch_npu {

// Whether only sizes and dtypes are asked for.
inline bool onMeta(const at::Tensor& tensor) { return tensor.is_meta(); }
inline bool onMeta(at::TensorList tensors) { return !tensors.empty() && tensors[0].is_meta(); }

inline bool given(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined();
}

// Refuses a value for an argument that is not supported here.
[[noreturn]] void throwUnsupported(const char* op, const char* argument);
inline void checkMissing(const char* op, const char* argument,
                         const std::optional<at::Tensor>& tensor) {
  if (given(tensor)) throwUnsupported(op, argument);
}
template <class T>
void checkMissing(const char* op, const char* argument, const T& value) {
  if (value.has_value()) throwUnsupported(op, argument);
}
// Refuses all values of an argument but those listed.
void checkOneOf(const char* op, const char* argument, int64_t value,
                std::initializer_list<int64_t> supported);

// A dtype by torch's number, or by CANN's plus 256; torch.qint8 and the like mean plain integers.
at::ScalarType scalarType(const char* op, int64_t number);
int64_t quantizedTypeNumber(std::optional<int64_t> dtype);
std::optional<int64_t> typeNumber(std::optional<at::ScalarType> dtype);

void checkRouting(const char* op, const at::Tensor& x, const at::Tensor& experts);
void checkRoutingV2(const at::Tensor& x, const at::Tensor& experts, int64_t expert_num,
                    int64_t capacity, int64_t drop_pad_mode, int64_t count_type, int64_t quant_mode,
                    at::IntArrayRef range, int64_t row_idx_type);
void checkNotPadded(const char* op, bool padded_mode);
void checkDynamicQuant(const char* op, const at::Tensor& input,
                       const std::optional<at::Tensor>& smooth,
                       const std::optional<at::Tensor>& groups, std::string_view quant_mode,
                       double type_max);
void checkGroupedMatmul(at::TensorList x, at::TensorList weight,
                        const std::optional<at::Tensor>& groups, std::optional<int64_t> group_type,
                        std::optional<int64_t> list_type, std::optional<int64_t> activation);
// Sizes of groups of rows, columns and the inner dimension as CANN packs them: 16 bits each.
int64_t packedGroupSizes(const char* op, at::OptionalIntArrayRef sizes);
// A list of numbers as the tensor that CANN takes.
std::optional<at::Tensor> groupListTensor(at::TensorList x, at::OptionalIntArrayRef groups);

// Refuses outputs of other sizes, dtypes or devices than the call gives.
void checkInferAttentionOut(const at::Tensor& query, const at::Tensor& value,
                            const std::optional<at::Tensor>& block_table, std::string_view layout,
                            int64_t heads, int64_t key_heads, bool wants_logsumexp,
                            at::ScalarType dtype, const at::Tensor& attention_out,
                            const at::Tensor& softmax_lse);

// 'half' and 'interleave' as CANN's numbers.
int64_t rotaryModeNumber(const char* op, std::string_view mode);
// The mode of a backward pass, which does not know the matrix `rotate`.
c10::IValue rotaryModeWithout(const c10::IValue& rotate, const c10::IValue& mode);

// Optional lists of tensors as aclnn functions take them: a missing one is empty.
template <>
struct ConversionOf<std::optional<at::TensorList>> {
  using type = ConvertedTensorList;
};
inline at::TensorList asArgument(const std::optional<at::TensorList>& tensors) {
  return tensors.value_or(at::TensorList());
}

}  // namespace torch_npu
