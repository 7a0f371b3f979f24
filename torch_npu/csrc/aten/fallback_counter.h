// The record of which operators ran on the host.
#pragma once

#include <ATen/core/operator_name.h>

namespace torch_npu {

// Counts one call. The first one of each operator is logged: as a warning with
// TORCH_NPU_LOG_FALLBACK=1, else at level INFO (TORCH_CPP_LOG_LEVEL=INFO shows it).
void countFallback(const c10::OperatorName& name);

}  // namespace torch_npu
