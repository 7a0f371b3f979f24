#include "torch_npu/csrc/aten/custom_outputs.h"

#include <ATen/WrapDimUtils.h>

namespace torch_npu::shapes {

at::ScalarType computeType(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor overLastDims(const at::Tensor& x, const at::Tensor& gamma) {
  TORCH_CHECK(gamma.dim() >= 1 && gamma.dim() <= x.dim(),
              "expected gamma to have 1 to as many dimensions as x, but got gamma ", gamma.sizes(),
              " and x ", x.sizes());
  at::DimVector sizes(x.sizes().begin(), x.sizes().end());
  std::fill(sizes.end() - gamma.dim(), sizes.end(), 1);
  return sized(sizes, x, computeType(x));
}

at::Tensor halved(const at::Tensor& self, int64_t dim) {
  at::DimVector sizes(self.sizes().begin(), self.sizes().end());
  int64_t& size = sizes[static_cast<size_t>(at::maybe_wrap_dim(dim, self.dim(), false))];
  TORCH_CHECK(size % 2 == 0, "expected an even size in dimension ", dim, ", but got ",
              self.sizes());
  size /= 2;
  return sized(sizes, self);
}

}  // namespace torch_npu::shapes
