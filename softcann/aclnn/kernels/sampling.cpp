#include "aclnn/kernels/sampling.h"

#include <ATen/ops/arange.h>

#include <limits>

namespace softcann::aclnn {

void topKTopP(const at::Tensor& logits, const std::optional<at::Tensor>& p,
              const std::optional<at::Tensor>& k, at::Tensor& out) {
  TORCH_CHECK(logits.dim() == 2, "expected logits of (batch, vocabulary), but got ",
              logits.sizes());
  const double lost = -std::numeric_limits<double>::infinity();
  const int64_t all = logits.size(1);
  auto [values, order] =
      logits.sort(/*stable=*/std::optional<bool>(true), /*dim=*/-1, /*descending=*/false);
  if (k.has_value()) {
    const at::Tensor kept = k->to(at::kLong);
    const at::Tensor none = kept.le(0).logical_or_(kept.ge(all));
    const at::Tensor place = kept.neg().add_(all).masked_fill_(none, 0);
    values = values.masked_fill(values.lt(values.gather(1, place.unsqueeze(1))), lost);
  }
  if (p.has_value()) {
    const at::Tensor reached = values.to(at::kFloat).softmax(-1).cumsum(-1);
    const at::Tensor last = at::arange(all, order.options()).eq(all - 1);
    const at::Tensor outside =
        reached.le(p->to(at::kFloat).neg().add_(1).unsqueeze(1)).logical_and(last.logical_not());
    values = values.masked_fill(outside, lost);
  }
  out.copy_(values.scatter(1, order, values));
}

}  // namespace softcann::aclnn
