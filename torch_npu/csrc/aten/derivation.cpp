#include "torch_npu/csrc/aten/derivation.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace torch_npu {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using torch::jit::Stack;

int64_t Derivation::size(size_t input, int64_t dim) const {
  const std::vector<int64_t> all = sizes(input);
  return all[static_cast<size_t>(at::maybe_wrap_dim(dim, static_cast<int64_t>(all.size())))];
}

namespace {

const at::Tensor* tensorIn(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() ? &value.toTensor() : nullptr;
}

// A value of the forward pass, kept for the backward pass.
class Kept {
 public:
  Kept() = default;
  Kept(const c10::IValue& value, bool is_output) {
    if (const at::Tensor* tensor = tensorIn(value)) {
      tensor_ = SavedVariable(*tensor, is_output);
      is_tensor_ = true;
    } else {
      TORCH_CHECK_NOT_IMPLEMENTED(!value.isTensorList() && !value.isOptionalTensorList(),
                                  "derivatives of npu operators do not keep lists of tensors");
      value_ = value;
    }
  }
  c10::IValue unpack(c10::intrusive_ptr<torch::autograd::Node> node) const {
    return is_tensor_ ? c10::IValue(tensor_.unpack(std::move(node))) : value_;
  }
  void release() {
    if (is_tensor_) tensor_.reset_data();
  }

 private:
  bool is_tensor_ = false;
  SavedVariable tensor_;
  c10::IValue value_;
};

struct Description {
  std::vector<int64_t> sizes;
  at::ScalarType dtype = at::ScalarType::Undefined;
};

std::vector<size_t> allOf(const std::vector<const Derivative*>& derivatives,
                          std::vector<size_t> Derivative::* positions) {
  std::vector<size_t> all;
  for (const Derivative* derivative : derivatives) {
    const std::vector<size_t>& some = derivative->*positions;
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

size_t indexOf(const std::vector<size_t>& positions, size_t position) {
  const auto found = std::find(positions.begin(), positions.end(), position);
  TORCH_INTERNAL_ASSERT(found != positions.end());
  return static_cast<size_t>(found - positions.begin());
}

void fillDefaults(const c10::FunctionSchema& schema, Stack& stack) {
  const auto& arguments = schema.arguments();
  for (size_t i = stack.size(); i < arguments.size(); ++i) {
    TORCH_INTERNAL_ASSERT(arguments[i].default_value().has_value(), schema.name(), " needs ",
                          arguments[i].name());
    stack.push_back(*arguments[i].default_value());
  }
}

class CustomBackward final : public torch::autograd::Node {
 public:
  CustomBackward(std::vector<const Derivative*> derivatives, std::vector<size_t> targets)
      : derivatives_(std::move(derivatives)),
        targets_(std::move(targets)),
        gradients_(allOf(derivatives_, &Derivative::gradients)) {}

  std::string name() const override { return std::string(derivatives_.front()->name) + "Backward"; }

  void keepInputs(c10::ArrayRef<c10::IValue> arguments) {
    for (const size_t position : allOf(derivatives_, &Derivative::inputs)) {
      inputs_.emplace(position, Kept(arguments[position], /*is_output=*/false));
    }
    for (const size_t position : allOf(derivatives_, &Derivative::described)) {
      const at::Tensor* tensor = tensorIn(arguments[position]);
      described_.emplace(position, tensor != nullptr
                                       ? Description{tensor->sizes().vec(), tensor->scalar_type()}
                                       : Description{});
    }
  }

  void keepOutputs(c10::ArrayRef<c10::IValue> results) {
    for (const size_t position : allOf(derivatives_, &Derivative::outputs)) {
      outputs_.emplace(position, Kept(results[position], /*is_output=*/true));
    }
  }

  const std::vector<size_t>& gradients() const { return gradients_; }

  variable_list apply(variable_list&& grads) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    variable_list results(targets_.size());
    if (std::none_of(grads.begin(), grads.end(), [](const auto& g) { return g.defined(); })) {
      return results;
    }
    for (const Derivative* derivative : derivatives_) {
      applyOne(*derivative, grads, results);
    }
    return results;
  }

  void release_variables() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto& [position, kept] : inputs_) kept.release();
    for (auto& [position, kept] : outputs_) kept.release();
  }

 private:
  class Call final : public Derivation {
   public:
    Call(CustomBackward& node, const variable_list& grads, c10::List<bool> mask)
        : node_(node), grads_(grads), mask_(std::move(mask)) {}

    c10::IValue input(size_t position) const override {
      return node_.inputs_.at(position).unpack(nullptr);
    }
    c10::IValue result(size_t position) const override {
      return node_.outputs_.at(position).unpack(node_.getptr());
    }
    c10::IValue grad(size_t output) const override {
      const size_t index = indexOf(node_.gradients_, output);
      return grads_[index].defined() ? grads_[index] : node_.input_metadata(index).zeros_like();
    }
    c10::List<bool> mask() const override { return mask_; }
    std::vector<int64_t> sizes(size_t input) const override {
      return node_.described_.at(input).sizes;
    }
    at::ScalarType dtype(size_t input) const override { return node_.described_.at(input).dtype; }

   private:
    CustomBackward& node_;
    const variable_list& grads_;
    c10::List<bool> mask_;
  };

  void applyOne(const Derivative& derivative, const variable_list& grads, variable_list& results) {
    c10::List<bool> mask;
    for (const size_t target : derivative.targets) {
      mask.push_back(task_should_compute_output(indexOf(targets_, target)));
    }
    if (std::find(mask.begin(), mask.end(), true) == mask.end()) {
      return;
    }
    Stack stack = derivative.arguments(Call(*this, grads, mask));
    const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(
        derivative.backward.name.c_str(), derivative.backward.overload_name.c_str());
    fillDefaults(op.schema(), stack);
    op.callBoxed(&stack);
    for (size_t i = 0; i < derivative.targets.size(); ++i) {
      if (mask[i] && stack[i].isTensor()) {
        results[indexOf(targets_, derivative.targets[i])] = stack[i].toTensor();
      }
    }
  }

  std::vector<const Derivative*> derivatives_;
  std::vector<size_t> targets_;
  std::vector<size_t> gradients_;
  std::map<size_t, Kept> inputs_;
  std::map<size_t, Kept> outputs_;
  std::map<size_t, Description> described_;
};

class Differentiable final : public c10::OperatorKernel {
 public:
  explicit Differentiable(std::vector<const Derivative*> derivatives)
      : derivatives_(std::move(derivatives)), targets_(allOf(derivatives_, &Derivative::targets)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, Stack* stack) {
    const size_t count = op.schema().arguments().size();
    const auto arguments = torch::jit::last(*stack, count);
    const c10::intrusive_ptr<CustomBackward> node = recorded(arguments);
    {
      at::AutoDispatchBelowADInplaceOrView below;
      op.callBoxed(stack);
    }
    if (!node.defined()) {
      return;
    }
    const auto results = torch::jit::last(*stack, op.schema().returns().size());
    for (const size_t position : node->gradients()) {
      torch::autograd::set_history(results[position].toTensor(), node);
    }
    node->keepOutputs(results);
  }

 private:
  // The node for this call, if a gradient is wanted.
  c10::intrusive_ptr<CustomBackward> recorded(c10::ArrayRef<c10::IValue> arguments) const {
    torch::autograd::edge_list edges;
    bool wanted = false;
    for (const size_t target : targets_) {
      const at::Tensor* tensor = tensorIn(arguments[target]);
      if (tensor == nullptr) {
        edges.emplace_back();
        continue;
      }
      TORCH_CHECK_NOT_IMPLEMENTED(!tensor->_fw_grad(/*level=*/0).defined(),
                                  derivatives_.front()->name,
                                  " has no forward derivative; use reverse mode");
      wanted |= tensor->requires_grad();
      edges.push_back(tensor->requires_grad() ? torch::autograd::impl::gradient_edge(*tensor)
                                              : torch::autograd::Edge());
    }
    if (!wanted || !at::GradMode::is_enabled()) {
      return {};
    }
    auto node = c10::make_intrusive<CustomBackward>(derivatives_, targets_);
    node->set_next_edges(std::move(edges));
    node->keepInputs(arguments);
    return node;
  }

  std::vector<const Derivative*> derivatives_;
  std::vector<size_t> targets_;
};

}  // namespace

torch::CppFunction differentiable(std::vector<const Derivative*> derivatives) {
  return torch::CppFunction::makeFromBoxedFunctor(
      std::make_unique<Differentiable>(std::move(derivatives)));
}

}  // namespace torch_npu
