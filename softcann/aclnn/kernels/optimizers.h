// Steps of optimizers.
#pragma once

#include <ATen/core/Tensor.h>

#include <initializer_list>

namespace softcann::aclnn {

// ATen's fused kernels walk through the memory of parameters, gradients and states as if each were
// one array, and look at no list's length but the parameters'. Each list must have a tensor for
// each parameter, of the same dtype, sizes and strides, and without gaps.
void requireAlike(at::TensorList params, std::initializer_list<at::TensorList> lists);
// A number for each parameter.
void requireSteps(at::TensorList params, at::TensorList steps);
// Both, for what Adam and SGD read; `greatest` and `buffers` are read only where they are used.
void requireAdamStates(at::TensorList params, at::TensorList grads, at::TensorList m,
                       at::TensorList v, at::TensorList greatest, at::TensorList steps,
                       bool amsgrad);
void requireSgdStates(at::TensorList params, at::TensorList grads, at::TensorList buffers,
                      double momentum);

// One tensor's step of AdamW, with CANN's arguments.

struct AdamW {
  double lr;
  double beta1;
  double beta2;
  double weight_decay;
  double eps;
  bool amsgrad;
  bool maximize;
};

// `step` counts from 1; greatest is the greatest second moment so far, for amsgrad.
void applyAdamW(at::Tensor& param, at::Tensor& m, at::Tensor& v, const at::Tensor& greatest,
                const at::Tensor& grad, double step, const AdamW& settings);

// The same with beta1 and beta2 to the power of the step.
void applyAdamWWithPowers(at::Tensor& param, at::Tensor& m, at::Tensor& v,
                          const at::Tensor& greatest, const at::Tensor& grad, double beta1_power,
                          double beta2_power, const AdamW& settings);

}  // namespace softcann::aclnn
