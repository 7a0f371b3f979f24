// Changing what memory an npu tensor stands on.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace torch_npu {

// Sets sizes and strides (contiguous if none are given) and makes the storage large enough; it
// never shrinks.
void resizeTensor(c10::TensorImpl& tensor, c10::IntArrayRef sizes,
                  std::optional<c10::IntArrayRef> strides);

}  // namespace torch_npu
