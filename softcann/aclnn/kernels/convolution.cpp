#include "aclnn/kernels/convolution.h"

#include <ATen/ops/convolution_backward.h>

#include "aclnn/core/parameters.h"
#include "aclnn/kernels/common.h"

namespace softcann::aclnn {

void convolutionBackward(const at::Tensor& grad_output, const at::Tensor& input,
                         const at::Tensor& weight, at::OptionalIntArrayRef bias_sizes,
                         at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                         bool transposed, at::IntArrayRef output_padding, int64_t groups,
                         at::ArrayRef<bool> mask, const at::Tensor& grad_input,
                         const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  const auto [d_input, d_weight, d_bias] =
      at::convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
                               transposed, output_padding, groups, toMask<3>(mask));
  give(grad_input, d_input);
  give(grad_weight, d_weight);
  give(grad_bias, d_bias);
}

}  // namespace softcann::aclnn
