// What stands before the kernels of the operators that PyTorch does not have.
//
// Note [Arguments of Ascend's operators]
// PyTorch converts Python arguments by the schema and names operator and argument where one does
// not fit. What it lets pass is left to a kernel: None for a tensor, which becomes an undefined
// one, tensors on any device and in any layout, and numbers of SymInt[] that are no plain
// integers, where one came from a tensor or is a symbol of torch.compile. checkArguments() refuses
// the former by name. Kernels take plain integers, so the latter are made into such.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

namespace torch_npu {

// Raises, with the operator's and the argument's name: TypeError for None in the place of a tensor,
// RuntimeError for a tensor on another device than the call's, NotImplementedError for calls
// without an npu tensor and for sparse, blocked and nested tensors. Meta tensors are a device too.
// CPU tensors are allowed where they have no dimensions or the kernel reads them on the host.
void checkArguments(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> arguments);

namespace detail {

template <auto* function>
void callChecked(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                 torch::jit::Stack* stack) {
  static const auto kernel = c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(*function));
  checkArguments(op, torch::jit::last(*stack, op.schema().arguments().size()));
  kernel.callBoxed(op, keys, stack);
}

}  // namespace detail

// An operator made of PyTorch's, with its arguments checked before. SymInts stay what they are.
template <auto* function>
torch::CppFunction checked() {
  return torch::CppFunction::makeFromBoxedFunction<&detail::callChecked<function>>();
}

// Puts checks and plain integers before all operators of the namespaces npu and atb that have a
// kernel for npu. To be called once, after all are defined.
void registerCheckedCalls();

}  // namespace torch_npu
