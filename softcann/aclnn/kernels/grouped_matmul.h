// Products of many matrices, as mixtures of experts need them.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace softcann::aclnn {

// Empty lists are missing options. Of lists, either one tensor serves all groups (stacked along its
// first dimension) or there is one a group.
struct GroupedMatmul {
  at::TensorList x;
  at::TensorList weight;
  at::TensorList bias;
  at::TensorList scale;
  at::TensorList offset;
  at::TensorList antiquant_scale;
  at::TensorList antiquant_offset;
  at::TensorList token_scale;
  std::optional<at::Tensor> groups;
  int64_t
      group_type;     // -1: no groups, 0: rows of x are grouped, 2: columns of x and rows of weight
  int64_t list_type;  // groups: 0 cumulative, 1 sizes, 2 pairs of group and size
  int64_t activation;  // 0 none, 1 relu, 2 gelu (tanh), 4 fast gelu, 5 silu
};

void groupedMatmul(const GroupedMatmul& call, std::vector<at::Tensor> out);

// Cumulative numbers as the tensor above; none for an empty list.
std::optional<at::Tensor> groupList(at::OptionalIntArrayRef numbers);

}  // namespace softcann::aclnn
