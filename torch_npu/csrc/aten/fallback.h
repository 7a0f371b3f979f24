// The path of every operator that has no kernel for npu: it runs on the host.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/macros/Macros.h>

#include <cstdint>
#include <map>
#include <string>

namespace torch_npu {

// Runs the operator's CPU kernel on the arguments' host side (see host_tensors.h) and leaves on
// the stack what the operator would return on npu. It waits for the current streams of the
// tensors' devices, and is complete when it returns. Throws NotImplementedError for an operator
// without a CPU kernel.
void hostFallback(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// How often each operator ("aten::sort.stable") took that path since the process started.
// Nothing resets it.
C10_EXPORT std::map<std::string, uint64_t> fallbackCounts();

}  // namespace torch_npu
