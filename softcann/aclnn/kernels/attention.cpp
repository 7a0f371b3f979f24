#include "aclnn/kernels/attention.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

#include "aclnn/kernels/common.h"

namespace softcann::aclnn {

namespace {

constexpr double kNoDropout = 0.0;

// The layout that ATen's kernels make and expect: (batch, sequence, heads, ...) in memory.
at::Tensor sequenceMajor(const at::Tensor& tensor) {
  return tensor.transpose(1, 2).contiguous().transpose(1, 2);
}

}  // namespace

void scaledDotProductAttention(const at::Tensor& query, const at::Tensor& key,
                               const at::Tensor& value, const std::optional<at::Tensor>& mask,
                               bool is_causal, double scale, at::Tensor& out,
                               at::Tensor& logsumexp) {
  const auto [result, sums] = at::_scaled_dot_product_flash_attention_for_cpu(
      query, key, value, kNoDropout, is_causal, mask, scale);
  out.copy_(result);
  logsumexp.copy_(sums);
}

void scaledDotProductAttentionGrad(const at::Tensor& grad_out, const at::Tensor& query,
                                   const at::Tensor& key, const at::Tensor& value,
                                   const std::optional<at::Tensor>& mask, const at::Tensor& out,
                                   const at::Tensor& logsumexp, bool is_causal, double scale,
                                   const at::Tensor& grad_query, const at::Tensor& grad_key,
                                   const at::Tensor& grad_value) {
  const auto [into_query, into_key, into_value] =
      at::_scaled_dot_product_flash_attention_for_cpu_backward(
          sequenceMajor(grad_out), query, key, value, sequenceMajor(out), sequenceMajor(logsumexp),
          kNoDropout, is_causal, mask, scale);
  give(grad_query, into_query);
  give(grad_key, into_key);
  give(grad_value, into_value);
}

}  // namespace softcann::aclnn
