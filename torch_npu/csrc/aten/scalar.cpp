// Values that leave the device for the host's control flow.
#include <ATen/Dispatch_v2.h>
#include <ATen/ops/all.h>
#include <ATen/ops/eq.h>
#include <torch/library.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "torch_npu/csrc/aten/host_view.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_memcpy.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {
namespace {

constexpr size_t kLargestElement = sizeof(c10::complex<double>);

// Waits for the current stream, then fetches the one element.
void readElement(const at::Tensor& self, void* element) {
  const NPUStream stream = getCurrentNPUStream(self.device().index());
  const void* address = self.const_data_ptr();
  if (const void* view = hostView(address)) {
    stream.synchronize();
    std::memcpy(element, view, self.itemsize());
    return;
  }
  memcpyAndSync(element, address, self.itemsize(), ACL_MEMCPY_DEVICE_TO_HOST, stream);
}

at::Scalar localScalarDense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(),
              " elements cannot be converted to Scalar");
  const NPUGuard guard(self.device());
  alignas(kLargestElement) std::array<std::byte, kLargestElement> element{};
  readElement(self, element.data());
  at::Scalar result;
  AT_DISPATCH_V2(self.scalar_type(), "_local_scalar_dense_npu",
                 AT_WRAP([&] { result = *reinterpret_cast<const scalar_t*>(element.data()); }),
                 AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX), AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES),
                 AT_EXPAND(AT_FLOAT8_TYPES), at::kComplexHalf, at::kHalf, at::kBool, at::kBFloat16);
  return result;
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(self.device() == other.device(),
              "Cannot compare two tensors on different devices. Got: ", self.device(), " and ",
              other.device());
  TORCH_CHECK(self.dtype() == other.dtype(),
              "Expected all tensors to have the same dtype, but got ", self.dtype(), " and ",
              other.dtype());
  if (!self.is_same_size(other)) {
    return false;
  }
  return self.numel() == 0 || at::eq(self, other).all().item<bool>();
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_local_scalar_dense", TORCH_FN(localScalarDense));
  m.impl("equal", TORCH_FN(equal));
}

}  // namespace torch_npu
