// Cross entropy with the logarithms of its probabilities, and its gradient from these.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string_view>

namespace softcann::aclnn {

struct CrossEntropy {
  const at::Tensor& target;
  const std::optional<at::Tensor>& weight;  // of the classes
  std::string_view reduction;               // "mean" (also ""), "sum" or "none"
  int64_t ignore_index;
  double label_smoothing;
};
void crossEntropy(const at::Tensor& input, const CrossEntropy& options, at::Tensor& loss,
                  at::Tensor& log_prob);
void crossEntropyGrad(const at::Tensor& grad_loss, const at::Tensor& log_prob,
                      const CrossEntropy& options, at::Tensor& grad_input);

}  // namespace softcann::aclnn
