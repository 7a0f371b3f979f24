#include "aclnn/kernels/optimizers.h"

#include <ATen/ops/maximum.h>

#include <cmath>

namespace softcann::aclnn {

namespace {

bool haveSameLayout(const at::Tensor& one, const at::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.sizes() != other.sizes()) {
    return false;
  }
  for (int64_t dim = 0; dim < one.dim(); ++dim) {
    if (one.size(dim) > 1 && one.stride(dim) != other.stride(dim)) return false;
  }
  return true;
}

void requireOneEach(at::TensorList params, at::TensorList list) {
  TORCH_CHECK(list.size() == params.size(), "expected a tensor for each of ", params.size(),
              " parameters, but got ", list.size());
}

}  // namespace

void requireAlike(at::TensorList params, std::initializer_list<at::TensorList> lists) {
  for (const at::Tensor& param : params) {
    TORCH_CHECK(param.is_non_overlapping_and_dense(), "expected parameters without gaps, but got ",
                param.sizes(), " with strides ", param.strides(), "; use foreach=True");
  }
  for (const at::TensorList& list : lists) {
    requireOneEach(params, list);
    for (size_t i = 0; i < params.size(); ++i) {
      TORCH_CHECK(haveSameLayout(params[i], list[i]),
                  "parameters, gradients and states must have the same dtypes, sizes and strides, "
                  "but got ",
                  params[i].scalar_type(), params[i].sizes(), " with strides ", params[i].strides(),
                  " and ", list[i].scalar_type(), list[i].sizes(), " with strides ",
                  list[i].strides(), "; use foreach=True");
    }
  }
}

void requireSteps(at::TensorList params, at::TensorList steps) {
  requireOneEach(params, steps);
  for (const at::Tensor& step : steps) {
    TORCH_CHECK(step.numel() == 1, "expected steps of one element, but got ", step.sizes());
  }
}

void requireAdamStates(at::TensorList params, at::TensorList grads, at::TensorList m,
                       at::TensorList v, at::TensorList greatest, at::TensorList steps,
                       bool amsgrad) {
  requireAlike(params, {grads, m, v});
  if (amsgrad) requireAlike(params, {greatest});
  requireSteps(params, steps);
}

void requireSgdStates(at::TensorList params, at::TensorList grads, at::TensorList buffers,
                      double momentum) {
  requireAlike(params, {grads});
  if (momentum != 0) requireAlike(params, {buffers});
}

void applyAdamWWithPowers(at::Tensor& param, at::Tensor& m, at::Tensor& v,
                          const at::Tensor& greatest, const at::Tensor& grad, double beta1_power,
                          double beta2_power, const AdamW& settings) {
  const at::Tensor direction =
      settings.maximize ? grad.neg().to(m.scalar_type()) : grad.to(m.scalar_type());
  param.mul_(1 - settings.lr * settings.weight_decay);
  m.mul_(settings.beta1).add_(direction, 1 - settings.beta1);
  v.mul_(settings.beta2).addcmul_(direction, direction, 1 - settings.beta2);
  at::Tensor second = v;
  if (settings.amsgrad) {
    TORCH_CHECK(greatest.defined(), "amsgrad needs the greatest second moments");
    greatest.copy_(at::maximum(greatest, v));
    second = greatest;
  }
  const at::Tensor spread = second.sqrt().div_(std::sqrt(1 - beta2_power)).add_(settings.eps);
  param.addcdiv_(m.to(param.scalar_type()), spread.to(param.scalar_type()),
                 -settings.lr / (1 - beta1_power));
}

void applyAdamW(at::Tensor& param, at::Tensor& m, at::Tensor& v, const at::Tensor& greatest,
                const at::Tensor& grad, double step, const AdamW& settings) {
  applyAdamWWithPowers(param, m, v, greatest, grad, std::pow(settings.beta1, step),
                       std::pow(settings.beta2, step), settings);
}

}  // namespace softcann::aclnn
