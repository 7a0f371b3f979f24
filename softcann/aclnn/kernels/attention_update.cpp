#include "aclnn/kernels/attention_update.h"

#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "aclnn/kernels/common.h"
#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

void attentionUpdate(const std::vector<at::Tensor>& logsumexps,
                     const std::vector<at::Tensor>& outputs, at::Tensor& out,
                     const at::Tensor& logsumexp) {
  TORCH_CHECK(!logsumexps.empty() && logsumexps.size() == outputs.size(),
              "expected as many lse as local_out, at least one, but got ", logsumexps.size(),
              " and ", outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(logsumexps[i].dim() == 1 && outputs[i].dim() == 2 &&
                    outputs[i].sizes() == outputs[0].sizes() &&
                    logsumexps[i].size(0) == outputs[0].size(0),
                "expected lse of (rows) and local_out of (rows, size), all alike, but got ",
                logsumexps[i].sizes(), " and ", outputs[i].sizes());
  }
  const at::ScalarType type = computeType(out);
  const at::Tensor all = at::stack(logsumexps).to(type);
  const at::Tensor joined = all.logsumexp(at::IntArrayRef{0});
  at::Tensor sum = at::zeros(out.sizes(), out.options().dtype(type));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor weight = all.select(0, static_cast<int64_t>(i)).sub(joined).exp_();
    sum.add_(outputs[i].to(type).mul(weight.unsqueeze(-1)));
  }
  out.copy_(sum);
  give(logsumexp, joined);
}

}  // namespace softcann::aclnn
