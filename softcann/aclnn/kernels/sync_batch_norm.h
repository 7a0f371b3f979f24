// The parts of batch normalisation over several devices: each reduces its own share, the shares'
// statistics are gathered, and each normalises its share with the whole's.
//
// Channels are dimension 1 of input and gradient; statistics are vectors of channels, in float32
// for half precision.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

void batchNormStats(const at::Tensor& input, double eps, at::Tensor& mean, at::Tensor& invstd);

// mean and invstd: (shares, channels); counts: how many elements of a channel each share has.
void batchNormGatherStats(const at::Tensor& mean, const at::Tensor& invstd,
                          const at::Tensor& running_mean, const at::Tensor& running_var,
                          double momentum, double eps, const at::Tensor& counts,
                          at::Tensor& mean_all, at::Tensor& invstd_all);

void batchNormElemt(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias, const at::Tensor& mean,
                    const at::Tensor& invstd, at::Tensor& output);

// Gradients that the caller leaves out are undefined tensors.
void batchNormReduceBackward(const at::Tensor& grad_out, const at::Tensor& input,
                             const at::Tensor& mean, const at::Tensor& invstd,
                             const at::Tensor& sum_dy, const at::Tensor& sum_dy_xmu,
                             const at::Tensor& grad_weight, const at::Tensor& grad_bias);

void batchNormElemtBackward(const at::Tensor& grad_out, const at::Tensor& input,
                            const at::Tensor& mean, const at::Tensor& invstd,
                            const std::optional<at::Tensor>& weight, const at::Tensor& sum_dy,
                            const at::Tensor& sum_dy_xmu, const at::Tensor& counts,
                            at::Tensor& grad_input);

}  // namespace softcann::aclnn
