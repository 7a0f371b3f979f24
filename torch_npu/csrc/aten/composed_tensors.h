// Tensors that consist of other tensors: sparse, nested and quantized ones. Where such a tensor
// moves between npu and host, its parts move, and it is put together again there.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace torch_npu {

using PartConverter = c10::function_ref<at::Tensor(const at::Tensor& part)>;

bool isComposed(const at::Tensor& tensor);

// A tensor like `tensor` on `device` (an npu or the CPU) whose parts are the converted ones.
at::Tensor composeFrom(const at::Tensor& tensor, c10::Device device, PartConverter convert);

// Gives `tensor` the converted parts and the sizes of `source`, in place.
void replaceParts(const at::Tensor& tensor, const at::Tensor& source, PartConverter convert);

// Tensor.copy_ between quantized tensors, at least one of them on an npu: integers and quantizer.
void copyQuantized(const at::Tensor& dst, const at::Tensor& src, bool non_blocking);

}  // namespace torch_npu
