// Uninitialised npu tensors: what every operator that makes an output stands on.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace torch_npu {

// A tensor on `device` (an npu, with its index), whose memory comes from the caching allocator
// and belongs to the current stream of that device. Strides follow `memory_format`, contiguous
// by default.
at::Tensor emptyTensor(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device,
                       std::optional<c10::MemoryFormat> memory_format = std::nullopt);

at::Tensor emptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                        c10::Device device);

// A tensor option's device with its index filled in; none given means the current device.
c10::Device resolveDevice(std::optional<c10::Device> device);

}  // namespace torch_npu
