// npu_quantize: one operator of PyTorch for two functions of CANN, which divide or multiply by the
// scale.

#include <ATen/WrapDimUtils.h>
#include <torch/library.h>

#include "torch_npu/csrc/aten/custom_arguments.h"
#include "torch_npu/csrc/aten/custom_outputs.h"
#include "torch_npu/csrc/aten/launch.h"

namespace torch_npu {

namespace {

AclnnFunction aclnnQuantize("aclnnQuantize");
AclnnFunction aclnnAscendQuantV3("aclnnAscendQuantV3");

at::Tensor quantize(const at::Tensor& self, const at::Tensor& scales,
                    const std::optional<at::Tensor>& zero_points, int64_t dtype, int64_t axis,
                    bool div_mode) {
  constexpr const char* kOp = "npu_quantize";
  at::Tensor out = shapes::quantized(kOp, self, dtype);
  TORCH_CHECK(!div_mode || out.sym_sizes() == self.sym_sizes(), kOp,
              ": int4 needs div_mode False, which multiplies by the scales");
  // A multiplied scale lies along the last dimension, or the one before it for axis -2.
  const int64_t dim =
      div_mode ? at::maybe_wrap_dim(axis, self.dim()) : (axis == -2 ? int64_t{-2} : int64_t{-1});
  for (const auto& parameter : {std::optional<at::Tensor>(scales), zero_points}) {
    TORCH_CHECK(!given(parameter) || parameter->dim() != 1 || parameter->sym_numel() == 1 ||
                    parameter->sym_numel() == self.sym_size(dim),
                kOp, ": expected scales and zero_points of 1 or ", self.sym_size(dim),
                " elements, but got ", parameter->sizes());
  }
  if (onMeta(self)) {
    return out;
  }
  if (div_mode) {
    launch(aclnnQuantize, self, scales, zero_points, out.scalar_type(), static_cast<int32_t>(dim),
           out);
  } else {
    launch(aclnnAscendQuantV3, self, scales, zero_points, false, std::string_view("round"),
           static_cast<int32_t>(quantizedTypeNumber(dtype)), static_cast<int32_t>(dim), out);
  }
  return out;
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def(
      "npu_quantize(Tensor self, Tensor scales, Tensor? zero_points, int dtype, int axis=1, "
      "bool div_mode=True) -> Tensor");
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) { m.impl("npu_quantize", TORCH_FN(quantize)); }
TORCH_LIBRARY_IMPL(npu, Meta, m) { m.impl("npu_quantize", TORCH_FN(quantize)); }

}  // namespace torch_npu
