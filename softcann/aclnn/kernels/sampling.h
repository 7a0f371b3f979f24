// What is left of logits to draw a token from.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace softcann::aclnn {

// Logits (batch, vocabulary) with -inf for all but each row's k largest, and but the largest of
// those that come to the share p. A k that is not between is none.
void topKTopP(const at::Tensor& logits, const std::optional<at::Tensor>& p,
              const std::optional<at::Tensor>& k, at::Tensor& out);

}  // namespace softcann::aclnn
