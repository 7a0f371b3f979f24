// Outputs and checks of routing and quantising operators.

#include <ATen/ExpandUtils.h>
#include <ATen/ops/tensor.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"

namespace torch_npu {

namespace {

constexpr int64_t kPerWord = 8;      // int4 numbers in an int32
constexpr int64_t kCannTypes = 256;  // CANN's dtypes count from here

c10::SymDimVector dims(const at::Tensor& tensor) {
  return c10::SymDimVector(tensor.sym_sizes().begin(), tensor.sym_sizes().end());
}

bool isPackedType(int64_t number) {
  return number == static_cast<int64_t>(at::kQUInt4x2) || number == kCannTypes + ACL_INT4;
}

}  // namespace

at::ScalarType scalarType(const char* op, int64_t number) {
  switch (number) {
    case static_cast<int64_t>(at::kQInt8):
    case kCannTypes + ACL_INT8:
      return at::kChar;
    case static_cast<int64_t>(at::kQUInt8):
    case kCannTypes + ACL_UINT8:
      return at::kByte;
    case static_cast<int64_t>(at::kQInt32):
    case kCannTypes + ACL_INT32:
      return at::kInt;
    case kCannTypes + ACL_FLOAT:
      return at::kFloat;
    case kCannTypes + ACL_FLOAT16:
      return at::kHalf;
    case kCannTypes + ACL_BF16:
      return at::kBFloat16;
    default:
      break;
  }
  const auto type = static_cast<at::ScalarType>(number);
  TORCH_CHECK_NOT_IMPLEMENTED(number >= 0 && number < kCannTypes &&
                                  (at::isFloatingType(type) || at::isIntegralType(type, true)),
                              op, ": dtype number ", number, " is not supported");
  return type;
}

int64_t quantizedTypeNumber(std::optional<int64_t> dtype) {
  return dtype.has_value() && isPackedType(*dtype) ? ACL_INT4 : ACL_INT8;
}

std::optional<int64_t> typeNumber(std::optional<at::ScalarType> dtype) {
  return dtype.has_value() ? std::optional<int64_t>(static_cast<int64_t>(*dtype)) : std::nullopt;
}

void checkRouting(const char* op, const at::Tensor& x, const at::Tensor& experts) {
  TORCH_CHECK(x.dim() == 2 && experts.dim() == 2 && x.sym_size(0) == experts.sym_size(0), op,
              ": expected x of (rows, H) and expert_idx of (rows, K), but got ", x.sizes(), " and ",
              experts.sizes());
}

void checkRoutingV2(const at::Tensor& x, const at::Tensor& experts, int64_t expert_num,
                    int64_t capacity, int64_t drop_pad_mode, int64_t count_type, int64_t quant_mode,
                    at::IntArrayRef range, int64_t row_idx_type) {
  constexpr const char* kOp = "npu_moe_init_routing_v2";
  checkRouting(kOp, x, experts);
  checkOneOf(kOp, "quant_mode", quant_mode, {-1, 0, 1});
  checkOneOf(kOp, "drop_pad_mode", drop_pad_mode, {0, 1});
  checkOneOf(kOp, "expert_tokens_num_type", count_type, {0, 1, 2});
  checkOneOf(kOp, "row_idx_type", row_idx_type, {0, 1});
  TORCH_CHECK(expert_num > 0, kOp, ": expected expert_num above 0, but got ", expert_num);
  TORCH_CHECK(drop_pad_mode == 0 || capacity > 0, kOp,
              ": expected expert_capacity above 0 with drop_pad_mode 1, but got ", capacity);
  TORCH_CHECK(range.empty() || (range.size() == 2 && range[0] >= 0 && range[0] < range[1] &&
                                range[1] <= expert_num),
              kOp, ": expected active_expert_range within 0 and ", expert_num, ", but got ", range);
}

void checkNotPadded(const char* op, bool padded_mode) {
  TORCH_CHECK_NOT_IMPLEMENTED(!padded_mode, op,
                              ": padded_mode True is not supported; use False, with the experts "
                              "of each token");
}

void checkDynamicQuant(const char* op, const at::Tensor& input,
                       const std::optional<at::Tensor>& smooth,
                       const std::optional<at::Tensor>& groups, std::string_view quant_mode,
                       double type_max) {
  TORCH_CHECK(input.dim() >= 2, op, ": expected an input of 2 or more dimensions, but got ",
              input.sizes());
  TORCH_CHECK_VALUE(
      quant_mode == "pertoken" || quant_mode == "pertensor" || quant_mode == "perchannel", op,
      ": unknown quant_mode '", quant_mode, "'");
  TORCH_CHECK_NOT_IMPLEMENTED(type_max == 0, op, ": dst_type_max ", type_max,
                              " is not supported; leave it out");
  if (given(smooth)) {
    const int64_t expected = given(groups) ? 2 : 1;
    TORCH_CHECK(smooth->dim() == expected && smooth->sym_size(-1) == input.sym_size(-1), op,
                ": expected smooth_scales of ", expected, " dimensions, the last of ",
                input.sym_size(-1), ", but got ", smooth->sizes());
  }
}

void checkGroupedMatmul(at::TensorList x, at::TensorList weight,
                        const std::optional<at::Tensor>& groups, std::optional<int64_t> group_type,
                        std::optional<int64_t> list_type, std::optional<int64_t> activation) {
  constexpr const char* kOp = "npu_grouped_matmul";
  TORCH_CHECK(!x.empty() && !weight.empty(), kOp, ": expected at least one x and one weight");
  checkOneOf(kOp, "group_type", group_type.value_or(0), {-1, 0, 2});
  checkOneOf(kOp, "group_list_type", list_type.value_or(0), {0, 1, 2});
  checkOneOf(kOp, "act_type", activation.value_or(0), {0, 1, 2, 4, 5});
  TORCH_CHECK(!given(groups) || (at::isIntegralType(groups->scalar_type(), /*includeBool=*/false) &&
                                 groups->dim() >= 1),
              kOp, ": expected group_list in a list or of integers with one dimension or two, but ",
              "got a tensor of ", groups->scalar_type(), " with ", groups->dim());
  TORCH_CHECK(given(groups) || x.size() > 1 || weight.size() == 1, kOp, ": one x with ",
              weight.size(), " weights needs a group_list");
  TORCH_CHECK(
      x.size() == 1 || weight.size() == x.size() || (weight.size() == 1 && weight[0].dim() == 3),
      kOp, ": expected a weight for each of ", x.size(), " x, but got ", weight.size());
}

int64_t packedGroupSizes(const char* op, at::OptionalIntArrayRef sizes) {
  if (!sizes.has_value() || sizes->empty()) {
    return 0;
  }
  constexpr int kBits = 16;
  constexpr int64_t kLargest = (int64_t{1} << kBits) - 1;
  TORCH_CHECK(sizes->size() == 3, op, ": expected three group_sizes, but got ", *sizes);
  int64_t packed = 0;
  for (const int64_t size : *sizes) {
    TORCH_CHECK(size >= 0 && size <= kLargest, op, ": expected group_sizes from 0 to ", kLargest,
                ", but got ", *sizes);
    packed = packed << kBits | size;
  }
  return packed;
}

std::optional<at::Tensor> groupListTensor(at::TensorList x, at::OptionalIntArrayRef groups) {
  if (!groups.has_value() || x.empty()) {
    return std::nullopt;
  }
  return at::tensor(*groups, at::kLong).to(x[0].device());
}

namespace shapes {

at::Tensor lastDim(const at::Tensor& x, int64_t size, std::optional<at::ScalarType> dtype) {
  TORCH_CHECK(x.dim() >= 1 && size >= 1 && size <= x.sym_size(-1), "expected k from 1 to the last ",
              "dimension of ", x.sizes(), ", but got ", size);
  c10::SymDimVector sizes = dims(x);
  sizes.back() = size;
  return sizedBy(sizes, x, dtype);
}

at::Tensor routedTokens(const at::Tensor& x, const at::Tensor& experts, int64_t active,
                        int64_t expert_num, int64_t capacity, int64_t drop_pad_mode,
                        int64_t quant_mode) {
  const at::ScalarType type = quant_mode >= 0 ? at::kChar : x.scalar_type();
  if (drop_pad_mode == 1) {
    return sizedBy({expert_num, capacity, x.sym_size(1)}, x, type);
  }
  const c10::SymInt all = experts.sym_numel();
  return sizedBy({active > 0 ? all.min(active) : all, x.sym_size(1)}, x, type);
}

at::Tensor expertCounts(const at::Tensor& x, int64_t expert_num, int64_t count_type,
                        at::IntArrayRef range) {
  if (count_type == 2) {
    return sizedBy({expert_num, 2}, x, at::kLong);
  }
  return sizedBy({range.size() == 2 ? range[1] - range[0] : expert_num}, x, at::kLong);
}

at::Tensor finalizedTokens(const at::Tensor& expanded, const std::optional<at::Tensor>& scales,
                           const at::Tensor& positions, std::optional<int64_t> k) {
  const c10::SymInt choices = given(scales) ? scales->sym_size(1) : c10::SymInt(k.value_or(1));
  TORCH_CHECK(choices > 0 && positions.sym_numel() % choices == 0, "expected a multiple of ",
              choices, " positions, but got ", positions.sym_numel());
  return sizedBy({positions.sym_numel() / choices, expanded.sym_size(-1)}, expanded);
}

at::Tensor permutedTokens(const at::Tensor& tokens, const at::Tensor& indices,
                          std::optional<int64_t> wanted) {
  TORCH_CHECK(tokens.dim() == 2 && (indices.dim() == 1 || indices.dim() == 2) &&
                  indices.sym_size(0) == tokens.sym_size(0),
              "expected tokens of (tokens, H) and indices of (tokens) or (tokens, K), but got ",
              tokens.sizes(), " and ", indices.sizes());
  const c10::SymInt all = indices.sym_numel();
  const int64_t asked = wanted.value_or(0);
  const c10::SymInt count = asked > 0 ? all.min(asked) : (all + asked).max(0);
  return sizedBy({count, tokens.sym_size(1)}, tokens);
}

at::Tensor unpermutedTokens(const at::Tensor& permuted, const at::Tensor& sorted_indices,
                            const std::optional<at::Tensor>& probs) {
  TORCH_CHECK(permuted.dim() == 2, "expected permuted_tokens of (tokens, H), but got ",
              permuted.sizes());
  TORCH_CHECK(
      !given(probs) || (probs->dim() == 2 && probs->sym_numel() == sorted_indices.sym_numel()),
      "expected probs of (tokens, K) for ", sorted_indices.sym_numel(), " positions");
  const c10::SymInt top_k = given(probs) ? probs->sym_size(1) : c10::SymInt(1);
  return sizedBy({sorted_indices.sym_numel() / top_k, permuted.sym_size(1)}, permuted);
}

at::Tensor quantized(const char* op, const at::Tensor& x, std::optional<int64_t> dtype) {
  if (!dtype.has_value()) {
    return like(x, at::kChar);
  }
  if (isPackedType(*dtype)) {
    return packedInt4(op, x);
  }
  const at::ScalarType type = scalarType(op, *dtype);
  TORCH_CHECK_NOT_IMPLEMENTED(type == at::kChar || type == at::kByte || type == at::kInt, op,
                              ": quantising to ", type,
                              " is not supported; use torch.qint8, "
                              "torch.int8 or torch.quint4x2");
  return like(x, type);
}

at::Tensor packedInt4(const char* op, const at::Tensor& x) {
  TORCH_CHECK(x.dim() >= 1 && x.sym_size(-1) % kPerWord == 0, op,
              ": expected a last dimension divisible by ", kPerWord, " for int4, but got ",
              x.sizes());
  c10::SymDimVector sizes = dims(x);
  sizes.back() = sizes.back() / kPerWord;
  return sizedBy(sizes, x, at::kInt);
}

at::Tensor quantizationScale(const at::Tensor& x, std::string_view mode) {
  if (mode == "pertensor") {
    return sizedBy({1}, x, at::kFloat);
  }
  c10::SymDimVector sizes = dims(x);
  sizes.erase(sizes.end() - (mode == "perchannel" ? 2 : 1));
  return sizedBy(sizes, x, at::kFloat);
}

at::Tensor quantizedProduct(const at::Tensor& x1, const at::Tensor& x2,
                            std::optional<int64_t> dtype) {
  constexpr const char* kOp = "npu_quant_matmul";
  TORCH_CHECK(x1.dim() >= 2 && x2.dim() >= 2, kOp, ": expected matrices, but got ", x1.sizes(),
              " and ", x2.sizes());
  const bool packed = x2.scalar_type() == at::kInt;
  const bool turned = packed && x2.sym_stride(-2) == 1 && x2.sym_stride(-1) != 1;
  const c10::SymInt inner = x1.sym_size(-1) * (x1.scalar_type() == at::kInt ? kPerWord : 1);
  const c10::SymInt rows = x2.sym_size(-2) * (turned ? kPerWord : 1);
  const c10::SymInt columns = x2.sym_size(-1) * (packed && !turned ? kPerWord : 1);
  TORCH_CHECK(inner == rows, kOp, ": the inner sizes of ", x1.sizes(), " and ", x2.sizes(),
              " do not fit");
  auto sizes =
      at::infer_size_symdimvector(x1.sym_sizes().slice(0, static_cast<size_t>(x1.dim() - 2)),
                                  x2.sym_sizes().slice(0, static_cast<size_t>(x2.dim() - 2)));
  sizes.push_back(x1.sym_size(-2));
  sizes.push_back(columns);
  return sizedBy(sizes, x1, dtype.has_value() ? scalarType(kOp, *dtype) : at::kChar);
}

at::Tensor weightQuantizedProduct(const at::Tensor& x, const at::Tensor& weight,
                                  const std::optional<at::Tensor>& quant_scale) {
  constexpr const char* kOp = "npu_weight_quant_batchmatmul";
  TORCH_CHECK(x.dim() >= 2 && weight.dim() >= 2, kOp, ": expected matrices, but got ", x.sizes(),
              " and ", weight.sizes());
  const bool packed = weight.scalar_type() == at::kInt;
  const bool turned = packed && weight.sym_stride(-2) == 1 && weight.sym_stride(-1) != 1;
  TORCH_CHECK(x.sym_size(-1) == weight.sym_size(-2) * (turned ? kPerWord : 1), kOp,
              ": the inner sizes of ", x.sizes(), " and ", weight.sizes(), " do not fit");
  c10::SymDimVector sizes = dims(x);
  sizes.back() = weight.sym_size(-1) * (packed && !turned ? kPerWord : 1);
  return sizedBy(sizes, x, given(quant_scale) ? at::kChar : x.scalar_type());
}

std::vector<at::Tensor> groupedProducts(at::TensorList x, at::TensorList weight,
                                        const std::optional<at::Tensor>& groups,
                                        std::optional<int64_t> split_item,
                                        std::optional<int64_t> group_type,
                                        std::optional<int64_t> dtype) {
  constexpr const char* kOp = "npu_grouped_matmul";
  const at::ScalarType type = dtype.has_value() ? scalarType(kOp, *dtype) : x[0].scalar_type();
  const auto columns = [&](const at::Tensor& matrix) {
    const bool packed = matrix.scalar_type() == at::kInt;
    return matrix.sym_size(-1) * (packed ? kPerWord : 1);
  };
  const auto weightOf = [&](size_t i) { return weight.size() == 1 ? weight[0] : weight[i]; };
  if (given(groups) && group_type.value_or(0) == 2) {
    return {sizedBy({groups->sym_size(0), x[0].sym_size(0), columns(weight[0])}, x[0], type)};
  }
  if (split_item.value_or(0) >= 2) {
    c10::SymInt rows = 0;
    for (const at::Tensor& tensor : x) rows += tensor.sym_size(0);
    return {sizedBy({rows, columns(weight[0])}, x[0], type)};
  }
  std::vector<at::Tensor> products;
  if (x.size() == 1 && weight.size() > 1) {
    TORCH_CHECK_NOT_IMPLEMENTED(!given(groups), kOp,
                                ": split_item 0 with one x and a group_list is not supported; use "
                                "split_item 2, which gives one output");
  }
  for (size_t i = 0; i < x.size(); ++i) {
    c10::SymDimVector sizes = dims(x[i]);
    sizes.back() = columns(weightOf(i));
    products.push_back(sizedBy(sizes, x[i], type));
  }
  return products;
}

}  // namespace shapes
}  // namespace torch_npu
