#include "aclnn/kernels/sync_batch_norm.h"

#include <ATen/OpMathType.h>
#include <ATen/ops/var_mean.h>

#include <vector>

#include "aclnn/kernels/common.h"

namespace softcann::aclnn {

namespace {

// In the dtype that statistics are computed in.
at::Tensor exact(const at::Tensor& tensor) {
  return tensor.to(at::toOpMathType(tensor.scalar_type()));
}

// A vector of channels, broadcast against the input.
at::Tensor perChannel(const at::Tensor& vector, const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "expected an input with channels as its second dimension, but got ",
              input.sizes());
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = vector.numel();
  return vector.view(sizes);
}

std::vector<int64_t> allButChannels(const at::Tensor& input) {
  std::vector<int64_t> dims;
  for (int64_t dim = 0; dim < input.dim(); ++dim) {
    if (dim != 1) {
      dims.push_back(dim);
    }
  }
  return dims;
}

}  // namespace

void batchNormStats(const at::Tensor& input, double eps, at::Tensor& mean, at::Tensor& invstd) {
  const auto [variance, average] =
      at::var_mean(exact(input), allButChannels(input), at::Scalar(0), /*keepdim=*/false);
  mean.copy_(average);
  invstd.copy_(variance.add(eps).rsqrt());
}

void batchNormGatherStats(const at::Tensor& mean, const at::Tensor& invstd,
                          const at::Tensor& running_mean, const at::Tensor& running_var,
                          double momentum, double eps, const at::Tensor& counts,
                          at::Tensor& mean_all, at::Tensor& invstd_all) {
  const at::Tensor means = exact(mean);
  const at::Tensor weights = counts.to(means.scalar_type()).view({-1, 1});
  const at::Tensor total = weights.sum();
  const at::Tensor variances = exact(invstd).pow(-2).sub(eps);
  const at::Tensor average = means.mul(weights).sum(0).div(total);
  const at::Tensor variance =
      variances.add(means.sub(average).square()).mul(weights).sum(0).div(total);
  mean_all.copy_(average);
  invstd_all.copy_(variance.add(eps).rsqrt());
  if (running_mean.defined()) {
    running_mean.mul_(1 - momentum).add_(average.to(running_mean.scalar_type()), momentum);
  }
  if (running_var.defined()) {
    const at::Tensor unbiased = variance.mul(total.div(total.sub(1)));
    running_var.mul_(1 - momentum).add_(unbiased.to(running_var.scalar_type()), momentum);
  }
}

void batchNormElemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                    const at::Tensor& invstd, at::Tensor& output) {
  at::Tensor result = exact(input).sub(perChannel(mean, input)).mul(perChannel(invstd, input));
  if (weight.has_value()) {
    result = result.mul(perChannel(exact(*weight), input));
  }
  if (bias.has_value()) {
    result = result.add(perChannel(exact(*bias), input));
  }
  output.copy_(result);
}

void batchNormReduceBackward(const at::Tensor& grad_out, const at::Tensor& input,
                             const at::Tensor& mean, const at::Tensor& invstd,
                             const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu,
                             const at::Tensor& grad_weight, const at::Tensor& grad_bias) {
  const at::Tensor gradient = exact(grad_out);
  const std::vector<int64_t> dims = allButChannels(input);
  const at::Tensor sum = gradient.sum(dims);
  const at::Tensor weighted = gradient.mul(exact(input).sub(perChannel(mean, input))).sum(dims);
  give(sum_dy, sum);
  give(sum_dy_xmu, weighted);
  give(grad_weight, weighted.mul(invstd));
  give(grad_bias, sum);
}

void batchNormElemtBackward(const at::Tensor& grad_out, const at::Tensor& input,
                            const at::Tensor& mean, const at::Tensor& invstd,
                            const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy,
                            const at::Tensor& sum_dy_xmu, const at::Tensor& counts,
                            at::Tensor& grad_input) {
  const at::Tensor total = counts.sum().to(sum_dy.scalar_type());
  const at::Tensor slope = invstd.square().mul(sum_dy_xmu).div(total);
  at::Tensor result =
      exact(grad_out)
          .sub(perChannel(sum_dy.div(total), input))
          .sub(exact(input).sub(perChannel(mean, input)).mul(perChannel(slope, input)))
          .mul(perChannel(invstd, input));
  if (weight.has_value()) {
    result = result.mul(perChannel(exact(*weight), input));
  }
  grad_input.copy_(result);
}

}  // namespace softcann::aclnn
