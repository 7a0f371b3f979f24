#include "aclnn/kernels/grouped_matmul.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/tensor.h>

#include "aclnn/kernels/compute_type.h"
#include "aclnn/kernels/gated.h"
#include "aclnn/kernels/quantization.h"

namespace softcann::aclnn {

namespace {

struct Group {
  int64_t index;  // of the weight
  int64_t first;  // in the grouped dimension
  int64_t size;
};

std::vector<Group> groupsOf(const at::Tensor& list, int64_t list_type, int64_t total) {
  const at::Tensor values = list.to(at::kLong).contiguous();
  const int64_t* numbers = values.const_data_ptr<int64_t>();
  std::vector<Group> groups;
  int64_t first = 0;
  const int64_t count = list_type == 2 ? values.size(0) : values.numel();
  for (int64_t i = 0; i < count; ++i) {
    int64_t size = numbers[i];
    int64_t index = i;
    if (list_type == 0) {
      size -= first;
    } else if (list_type == 2) {
      index = numbers[2 * i];
      size = numbers[2 * i + 1];
    }
    TORCH_CHECK(size >= 0 && first + size <= total, "expected group_list to describe groups of ",
                total, " in all, but got ", list);
    groups.push_back({index, first, size});
    first += size;
  }
  return groups;
}

// The part of an option that belongs to a group: its own tensor, or its row of a stacked one.
const at::Tensor& partAt(at::TensorList list, int64_t index) {
  TORCH_CHECK(index < static_cast<int64_t>(list.size()), "group ", index,
              " needs a tensor of its own, but a list has ", list.size());
  return list[static_cast<size_t>(index)];
}

at::Tensor partOf(at::TensorList list, int64_t index, bool stacked) {
  if (list.empty()) {
    return {};
  }
  return stacked ? list[0].select(0, index) : partAt(list, index);
}

at::Tensor activated(const at::Tensor& y, int64_t activation) {
  switch (activation) {
    case 0:
      return y;
    case 1:
      return y.relu();
    case 2:
      return at::gelu(y, "tanh");
    case 4: {
      at::Tensor result = y.clone();
      fastGelu(y, result);
      return result;
    }
    case 5:
      return y.mul(y.sigmoid());
    default:
      TORCH_CHECK_NOT_IMPLEMENTED(false, "act_type ", activation,
                                  " is not supported; use 0, 1, 2, 4 or 5");
  }
}

std::optional<at::Tensor> orNone(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
}

// A group's bias is what makes up for the way that the card splits x; what it counts as is scaled.
at::Tensor int8RowsTimesInt4(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& scale,
                             const at::Tensor& bias, const at::Tensor& token_scale) {
  TORCH_CHECK(scale.defined() && token_scale.defined(),
              "expected scale and per_token_scale for int8 rows with int4 weights");
  return int8TimesInt4(x, unpackInt4(weight), scale, bias, /*group_size=*/0)
      .mul_(token_scale.reshape({-1, 1}));
}

// One product with everything that goes with it. `rows` are those of x that belong to the group.
at::Tensor product(const GroupedMatmul& call, const at::Tensor& x, int64_t index, bool stacked,
                   const at::Tensor& token_scale) {
  const at::Tensor weight = partOf(call.weight, index, stacked);
  const at::Tensor bias = partOf(call.bias, index, stacked);
  const at::Tensor scale = partOf(call.scale, index, stacked);
  const at::Tensor antiquant = partOf(call.antiquant_scale, index, stacked);
  const bool whole = !at::isFloatingType(x.scalar_type());
  if (x.scalar_type() == at::kChar && weight.scalar_type() == at::kInt) {
    return activated(int8RowsTimesInt4(x, weight, scale, bias, token_scale), call.activation);
  }
  at::Tensor result;
  if (whole) {
    const auto plain = [](const at::Tensor& matrix) {
      return (matrix.scalar_type() == at::kInt ? unpackInt4(matrix) : matrix).to(at::kDouble);
    };
    result = at::matmul(plain(x), plain(weight));
  } else if (antiquant.defined()) {
    const at::Tensor plain = weight.scalar_type() == at::kInt ? unpackInt4(weight) : weight;
    const int64_t per_group =
        antiquant.dim() >= 2 && antiquant.size(-2) > 1 ? plain.size(-2) / antiquant.size(-2) : 0;
    result = at::matmul(
        x.to(at::kFloat),
        dequantizedWeight(plain, antiquant, orNone(partOf(call.antiquant_offset, index, stacked)),
                          per_group));
  } else {
    const at::ScalarType type = computeType(x);
    result = at::matmul(x.to(type), weight.to(type));
  }
  const bool whole_bias = bias.defined() && bias.scalar_type() == at::kInt;
  if (bias.defined() && (whole_bias || !scale.defined())) {
    result.add_(bias);
  }
  if (scale.defined()) {
    result.mul_(plainScale(scale));
    if (token_scale.defined()) {
      result.mul_(token_scale.reshape({-1, 1}));
    }
    if (bias.defined() && !whole_bias) {
      result.add_(bias);
    }
    if (const at::Tensor offset = partOf(call.offset, index, stacked); offset.defined()) {
      result.add_(offset);
    }
  }
  return activated(result, call.activation);
}

// Rows of one or more x in groups, into one or more outputs.
void byRows(const GroupedMatmul& call, std::vector<at::Tensor>& out) {
  TORCH_CHECK(call.x.size() == 1, "expected one x with a group_list of its rows, but got ",
              call.x.size());
  const at::Tensor& x = call.x[0];
  const bool stacked = call.weight.size() == 1;
  const bool one_out = out.size() == 1;
  for (at::Tensor& tensor : out) {
    tensor.zero_();  // rows of no group
  }
  for (const Group& group : groupsOf(*call.groups, call.list_type, x.size(0))) {
    if (group.size == 0) {
      continue;
    }
    at::Tensor scale;
    if (!call.token_scale.empty()) {
      scale = call.token_scale[0].narrow(0, group.first, group.size);
    }
    at::Tensor into =
        one_out ? out[0].narrow(0, group.first, group.size) : partAt(out, group.index);
    storeRounded(product(call, x.narrow(0, group.first, group.size), group.index, stacked, scale),
                 into);
  }
}

// Columns of x and rows of weight in groups: one product each.
void byColumns(const GroupedMatmul& call, std::vector<at::Tensor>& out) {
  TORCH_CHECK(call.x.size() == 1 && call.weight.size() == 1 && out.size() == 1,
              "expected one x and one weight with a group_list of their common dimension");
  const at::Tensor& x = call.x[0];
  const at::ScalarType type = computeType(x);
  out[0].zero_();
  for (const Group& group : groupsOf(*call.groups, call.list_type, x.size(1))) {
    at::Tensor into = out[0].select(0, group.index);
    storeRounded(at::matmul(x.narrow(1, group.first, group.size).to(type),
                            call.weight[0].narrow(0, group.first, group.size).to(type)),
                 into);
  }
}

// Each x with its own weight.
void oneByOne(const GroupedMatmul& call, std::vector<at::Tensor>& out) {
  const bool stacked = call.weight.size() == 1 && call.weight[0].dim() == 3;
  int64_t first = 0;
  for (size_t i = 0; i < call.x.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const at::Tensor scale = partOf(call.token_scale, index, /*stacked=*/false);
    const at::Tensor result = product(call, call.x[i], index, stacked, scale);
    at::Tensor into =
        out.size() == call.x.size() ? out[i] : out[0].narrow(0, first, result.size(0));
    storeRounded(result, into);
    first += result.size(0);
  }
}

}  // namespace

std::optional<at::Tensor> groupList(at::OptionalIntArrayRef numbers) {
  if (!numbers.has_value() || numbers->empty()) {
    return std::nullopt;
  }
  return at::tensor(*numbers, at::kLong);
}

void groupedMatmul(const GroupedMatmul& call, std::vector<at::Tensor> out) {
  TORCH_CHECK(!call.weight.empty() && !out.empty(), "expected a weight and an output, but got ",
              call.weight.size(), " and ", out.size());
  if (call.group_type == -1 || !call.groups.has_value() || call.x.size() > 1) {
    oneByOne(call, out);
  } else if (call.group_type == 0) {
    byRows(call, out);
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(call.group_type == 2, "group_type ", call.group_type,
                                " is not supported; use -1, 0 or 2");
    byColumns(call, out);
  }
}

}  // namespace softcann::aclnn
