#include "torch_npu/csrc/aten/factories.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/TensorFactories.h>
#include <c10/core/DefaultDtype.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/core/npu_guard.h"

namespace torch_npu {
namespace {

constexpr c10::DispatchKeySet kDenseKeys(c10::DispatchKey::PrivateUse1);

void checkDenseOptions(std::optional<c10::Layout> layout, std::optional<bool> pin_memory) {
  TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided,
              "expected the strided layout for an npu tensor, but got ", *layout);
  TORCH_CHECK(!pin_memory.value_or(false), "Only dense CPU tensors can be pinned");
}

c10::ScalarType resolveDtype(std::optional<c10::ScalarType> dtype) {
  return dtype ? *dtype : c10::get_default_dtype_as_scalartype();
}

// torch.use_deterministic_algorithms() also asks for defined contents of new memory.
at::Tensor filledIfDeterministic(at::Tensor tensor) {
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
      [[unlikely]] {
    at::native::fill_empty_deterministic_(tensor);
  }
  return tensor;
}

at::Tensor emptyMemoryFormat(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                             std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                             std::optional<bool> pin_memory,
                             std::optional<c10::MemoryFormat> memory_format) {
  checkDenseOptions(layout, pin_memory);
  return filledIfDeterministic(
      emptyTensor(size, resolveDtype(dtype), resolveDevice(device), memory_format));
}

at::Tensor emptyStridedOp(c10::IntArrayRef size, c10::IntArrayRef stride,
                          std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
                          std::optional<c10::Device> device, std::optional<bool> pin_memory) {
  checkDenseOptions(layout, pin_memory);
  return filledIfDeterministic(
      emptyStrided(size, stride, resolveDtype(dtype), resolveDevice(device)));
}

// Zeros without memory, which autograd uses for undefined gradients of forward mode.
at::Tensor efficientZeroTensor(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                               std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                               std::optional<bool> pin_memory) {
  checkDenseOptions(layout, pin_memory);
  at::native::ZeroTensorAllocator allocator(resolveDevice(device));
  return at::detail::empty_generic(size, &allocator, kDenseKeys.add(c10::DispatchKey::ZeroTensor),
                                   resolveDtype(dtype), std::nullopt);
}

}  // namespace

c10::Device resolveDevice(std::optional<c10::Device> device) {
  lazyInit();
  if (!device || !device->has_index()) {
    return {c10::DeviceType::PrivateUse1, currentDevice()};
  }
  return *device;
}

at::Tensor emptyTensor(c10::IntArrayRef sizes, c10::ScalarType dtype, c10::Device device,
                       std::optional<c10::MemoryFormat> memory_format) {
  const NPUGuard guard(device);
  return at::detail::empty_generic(sizes, cachingAllocator(), kDenseKeys, dtype, memory_format);
}

at::Tensor emptyStrided(c10::IntArrayRef sizes, c10::IntArrayRef strides, c10::ScalarType dtype,
                        c10::Device device) {
  const NPUGuard guard(device);
  return at::detail::empty_strided_generic(sizes, strides, cachingAllocator(), kDenseKeys, dtype);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(emptyMemoryFormat));
  m.impl("empty_strided", TORCH_FN(emptyStridedOp));
  m.impl("_efficientzerotensor", TORCH_FN(efficientZeroTensor));
}

}  // namespace torch_npu
