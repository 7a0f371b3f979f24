#include "aclnn/kernels/indexing.h"

#include <ATen/ops/_index_put_impl.h>
#include <ATen/ops/index.h>

#include <algorithm>

namespace softcann::aclnn {

namespace {

bool given(const std::optional<at::Tensor>& index) { return index && index->defined(); }

bool isEmptyVector(const std::optional<at::Tensor>& index) {
  return given(index) && index->dim() == 1 && index->numel() == 0;
}

bool allEmptyVectors(const Indices& indices) {
  return std::all_of(indices.begin(), indices.end(), isEmptyVector);
}

bool isInteger(const std::optional<at::Tensor>& index) {
  return index->scalar_type() == at::kLong || index->scalar_type() == at::kInt;
}

// Null for the empty vectors of self's dtype that stand for it. Among nulls there are none. Where
// all are empty, an integer one is an index, and if there is one, the others are none.
Indices withNulls(const Indices& indices, at::ScalarType dtype) {
  if (!std::all_of(indices.begin(), indices.end(), given)) return indices;
  const bool selects_nothing = allEmptyVectors(indices);
  if (selects_nothing && std::none_of(indices.begin(), indices.end(), isInteger)) return indices;
  Indices result;
  for (const std::optional<at::Tensor>& index : indices) {
    const bool stands_for_null = isEmptyVector(index) && index->scalar_type() == dtype &&
                                 !(selects_nothing && isInteger(index));
    result.push_back(stands_for_null ? std::nullopt : index);
  }
  return result;
}

}  // namespace

void indexInto(at::Tensor& out, const at::Tensor& self, const Indices& indices) {
  // Which of several empty vectors are indices does not matter then.
  if (out.numel() == 0 && indices.size() > 1 && allEmptyVectors(indices)) return;
  at::index_out(out, self, withNulls(indices, self.scalar_type()));
}

void indexPut(at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate,
              bool unsafe) {
  at::_index_put_impl_(self, withNulls(indices, self.scalar_type()), values, accumulate, unsafe);
}

}  // namespace softcann::aclnn
