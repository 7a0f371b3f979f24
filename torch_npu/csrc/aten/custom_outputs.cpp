#include "torch_npu/csrc/aten/custom_outputs.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/empty.h>

namespace torch_npu::shapes {

at::ScalarType computeType(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor sizedBy(c10::SymIntArrayRef sizes, const at::Tensor& device_of,
                   std::optional<at::ScalarType> dtype) {
  if (const auto known = c10::asIntArrayRefSlowOpt(sizes)) {
    return sized(*known, device_of, dtype);
  }
  return at::empty_symint(sizes,
                          device_of.options().dtype(dtype.value_or(device_of.scalar_type())));
}

at::Tensor overLastDims(const at::Tensor& x, const at::Tensor& gamma) {
  TORCH_CHECK(gamma.dim() >= 1 && gamma.dim() <= x.dim(),
              "expected gamma to have 1 to as many dimensions as x, but got gamma ", gamma.sizes(),
              " and x ", x.sizes());
  c10::SymDimVector sizes(x.sym_sizes().begin(), x.sym_sizes().end());
  std::fill(sizes.end() - gamma.dim(), sizes.end(), 1);
  return sizedBy(sizes, x, computeType(x));
}

at::Tensor halved(const at::Tensor& self, int64_t dim) {
  c10::SymDimVector sizes(self.sym_sizes().begin(), self.sym_sizes().end());
  c10::SymInt& size = sizes[static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim(), false))];
  TORCH_CHECK(size % 2 == 0, "expected an even size in dimension ", dim, ", but got ",
              self.sizes());
  size = size / 2;
  return sizedBy(sizes, self);
}

}  // namespace torch_npu::shapes
