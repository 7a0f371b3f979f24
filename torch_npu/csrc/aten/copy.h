// Tensor.copy_ wherever one side is on an npu.
#pragma once

#include <ATen/core/Tensor.h>

namespace torch_npu {

// Writes `src` to `dst`: any direction, layout and dtype, broadcasting, conjugated and negated
// views included. Ordered in the current streams of the devices involved. Returns before the
// copy is done if only npus are involved, if `non_blocking` is set and the host side is pinned,
// or if the host's bytes were staged; in each case the caller may change a pageable source.
void copyTensor(const at::Tensor& dst, const at::Tensor& src, bool non_blocking);

}  // namespace torch_npu
