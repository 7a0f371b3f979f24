// Joining attention over parts of the keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

namespace softcann::aclnn {

// The output (rows, size) and logsumexp (rows) over all keys from those over parts of them; the
// latter is written if defined.
void attentionUpdate(const std::vector<at::Tensor>& logsumexps,
                     const std::vector<at::Tensor>& outputs, at::Tensor& out,
                     const at::Tensor& logsumexp);

}  // namespace softcann::aclnn
