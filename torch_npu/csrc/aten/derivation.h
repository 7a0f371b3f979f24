// The derivatives of operators that PyTorch does not have, from the operator table's `backward`
// entries: one autograd node for all of them, which calls another operator for the gradients.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <string>
#include <vector>

namespace torch_npu {

// What a derivative's arguments read, in one backward pass of one call.
class Derivation {
 public:
  virtual ~Derivation() = default;

  // An argument of the call; tensors are checked for having been changed since.
  virtual c10::IValue input(size_t position) const = 0;
  virtual c10::IValue result(size_t position) const = 0;
  // The gradient of an output; zeros if none has come.
  virtual c10::IValue grad(size_t output) const = 0;
  // Which of the derivative's targets need a gradient.
  virtual c10::List<bool> mask() const = 0;
  virtual std::vector<int64_t> sizes(size_t input) const = 0;
  virtual at::ScalarType dtype(size_t input) const = 0;

  int64_t size(size_t input, int64_t dim) const;
};

// Positions count the operator's arguments and results from 0.
struct Derivative {
  const char* name;
  c10::OperatorName backward;
  std::vector<size_t> targets;    // inputs that the backward operator's results belong to, in order
  std::vector<size_t> inputs;     // what `arguments` reads whole
  std::vector<size_t> described;  // inputs of which it reads sizes or dtype only
  std::vector<size_t> outputs;
  std::vector<size_t> gradients;  // outputs whose gradients it reads; the others have none
  torch::jit::Stack (*arguments)(const Derivation& call);
};

// The kernel for the key AutogradPrivateUse1. The derivatives live as long as the process.
torch::CppFunction differentiable(std::vector<const Derivative*> derivatives);

}  // namespace torch_npu
