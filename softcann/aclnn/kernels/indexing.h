// Indexing by lists of tensors, as clients of CANN write them.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// Index tensors, one a dimension. A dimension that is not indexed has null, or, as lists of
// aclTensor often cannot hold null, an empty vector among indices that are none: Ascend's own
// torch_npu gives one of self's dtype, beside indices broadcast to one shape.
using Indices = c10::List<std::optional<at::Tensor>>;

void indexInto(at::Tensor& out, const at::Tensor& self, const Indices& indices);
void indexPut(at::Tensor& self, const Indices& indices, const at::Tensor& values, bool accumulate,
              bool unsafe);

}  // namespace softcann::aclnn
