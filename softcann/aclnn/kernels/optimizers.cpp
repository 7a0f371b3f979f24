#include "aclnn/kernels/optimizers.h"

#include <ATen/ops/maximum.h>

#include <cmath>

namespace softcann::aclnn {

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
