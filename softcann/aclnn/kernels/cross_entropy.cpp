#include "aclnn/kernels/cross_entropy.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/ones.h>

#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

namespace {

int64_t reductionOf(std::string_view name) {
  if (name.empty() || name == "mean") return at::Reduction::Mean;
  if (name == "sum") return at::Reduction::Sum;
  TORCH_CHECK_VALUE(name == "none", "expected reduction 'mean', 'sum' or 'none', but got '", name,
                    "'");
  return at::Reduction::None;
}

void checkSizes(const at::Tensor& input, const at::Tensor& target) {
  TORCH_CHECK(input.dim() == 2 && target.dim() == 1 && input.size(0) == target.size(0),
              "expected input of (N, C) and target of (N), but got ", input.sizes(), " and ",
              target.sizes());
}

}  // namespace

void crossEntropy(const at::Tensor& input, const CrossEntropy& options, at::Tensor& loss,
                  at::Tensor& log_prob) {
  checkSizes(input, options.target);
  const at::ScalarType type = computeType(input);
  const at::Tensor wide = input.to(type);
  const std::optional<at::Tensor> weight = options.weight.has_value()
                                               ? std::optional<at::Tensor>(options.weight->to(type))
                                               : std::nullopt;
  const at::Tensor result = at::cross_entropy_loss(wide, options.target.to(at::kLong), weight,
                                                   reductionOf(options.reduction),
                                                   options.ignore_index, options.label_smoothing);
  loss.copy_(result.view(loss.sizes()));
  log_prob.copy_(wide.log_softmax(1));
}

void crossEntropyGrad(const at::Tensor& grad_loss, const at::Tensor& log_prob,
                      const CrossEntropy& options, at::Tensor& grad_input) {
  checkSizes(log_prob, options.target);
  const at::ScalarType type = computeType(log_prob);
  const int64_t classes = log_prob.size(1);
  const at::Tensor target = options.target.to(at::kLong);
  const at::Tensor counted = target.ne(options.ignore_index);
  const at::Tensor place = target.masked_fill(counted.logical_not(), 0);
  const at::Tensor weight = options.weight.has_value()
                                ? options.weight->to(type)
                                : at::ones({classes}, log_prob.options().dtype(type));
  const at::Tensor own = weight.index_select(0, place).mul_(counted);
  at::Tensor grad = grad_loss.to(type).reshape({-1});
  if (reductionOf(options.reduction) == at::Reduction::Mean) {
    grad = grad.div(own.sum());
  }
  // Of the logarithms: what the target's has, and what smoothing gives to all.
  const at::Tensor certain = grad.mul(own).mul_(options.label_smoothing - 1);
  const at::Tensor smooth =
      grad.mul(counted).mul_(-options.label_smoothing / static_cast<double>(classes));
  const at::Tensor all = smooth.unsqueeze(1)
                             .mul(weight.unsqueeze(0))
                             .scatter_add(1, place.unsqueeze(1), certain.unsqueeze(1));
  const at::Tensor sums = all.sum(1, /*keepdim=*/true);
  grad_input.copy_(all.sub(log_prob.to(type).exp().mul_(sums)));
}

}  // namespace softcann::aclnn
