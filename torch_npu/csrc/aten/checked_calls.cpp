#include "torch_npu/csrc/aten/checked_calls.h"

#include <ATen/core/List.h>
#include <c10/core/SymInt.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace torch_npu {

namespace {

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

// The name that callers use: without the namespace.
std::string_view shortName(const c10::OperatorHandle& op) {
  const std::string_view name = op.operator_name().name;
  return name.substr(name.rfind(':') + 1);
}

// Tensors that kernels read on the host, wherever they are.
bool readOnHost(std::string_view op, std::string_view argument) {
  struct Argument {
    std::string_view op;
    std::string_view name;
  };
  static constexpr Argument kArguments[] = {
      {"_npu_flash_attention", "seq_len"},
      {"_npu_flash_attention_unpad", "seq_len"},
      {"_npu_paged_attention", "context_lens"},
      {"_npu_paged_attention_get_workspace", "context_lens"},
      {"npu_fusion_attention_v3", "actual_seq_qlen"},
      {"npu_fusion_attention_v3", "actual_seq_kvlen"},
      {"npu_fusion_attention_grad_v3", "actual_seq_qlen"},
      {"npu_fusion_attention_grad_v3", "actual_seq_kvlen"},
      {"npu_nms_v4", "iou_threshold"},
      {"npu_nms_v4", "scores_threshold"},
  };
  return std::any_of(std::begin(kArguments), std::end(kArguments), [&](const Argument& known) {
    return known.op == op && known.name == argument;
  });
}

// Not sparse, blocked or nested.
bool isPlain(const Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_nested();
}

[[noreturn]] void throwNotPlain(std::string_view op, const std::string& argument,
                                const Tensor& tensor) {
  const bool nested = tensor.is_nested() || tensor.layout() == at::kJagged;
  C10_THROW_ERROR(
      NotImplementedError,
      c10::str(op, ": the argument '", argument, "' is a ",
               nested ? "nested tensor" : c10::str("tensor of layout ", tensor.layout()),
               ", which is not supported; use ", nested ? "to_padded_tensor()" : "to_dense()"));
}

struct Tensors {
  // Calls f(argument's position, tensor) for every tensor, those of lists too.
  template <class F>
  void each(const F& f) const {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const IValue& value = arguments[i];
      if (value.isTensor()) {
        f(i, value.toTensor());
      } else if (value.isTensorList()) {
        for (const IValue& element : value.toListRef()) f(i, element.toTensor());
      }
    }
  }
  c10::ArrayRef<IValue> arguments;
};

// Reached by calls that are not plainly right; those that are right after all return.
void checkOneByOne(const c10::OperatorHandle& op, const Tensors& tensors) {
  const auto& arguments = op.schema().arguments();
  const std::string_view name = shortName(op);
  // The call's device is that of its first npu tensor, or else of its first meta tensor.
  std::optional<at::Device> device;
  size_t first = 0;
  for (const at::DeviceType type : {at::kPrivateUse1, at::kMeta}) {
    tensors.each([&](size_t i, const Tensor& tensor) {
      if (!device && tensor.defined() && tensor.device().type() == type) {
        device = tensor.device();
        first = i;
      }
    });
  }
  tensors.each([&](size_t i, const Tensor& tensor) {
    const c10::Argument& argument = arguments[i];
    if (!tensor.defined()) {
      TORCH_CHECK_TYPE(
          argument.type()->kind() == c10::TypeKind::OptionalType && tensors.arguments[i].isTensor(),
          name, ": expected a tensor as argument '", argument.name(), "', but got None");
      return;
    }
    const at::Device found = tensor.device();
    // Whoever gives an operator a kernel for another device may call it there.
    const bool foreign =
        !device && op.hasKernelForDispatchKey(c10::highestPriorityBackendTypeId(tensor.key_set()));
    if (!device && !foreign) {
      C10_THROW_ERROR(NotImplementedError, c10::str(name, ": expected an npu tensor as argument '",
                                                    argument.name(), "', but got one on ", found));
    }
    const bool written = argument.alias_info() != nullptr && argument.alias_info()->isWrite();
    const bool host =
        found.is_cpu() && !written && (tensor.dim() == 0 || readOnHost(name, argument.name()));
    TORCH_CHECK(!device || found == *device || host, name,
                ": Expected all tensors to be on the same device, but the argument '",
                argument.name(), "' is on ", found, " and '", arguments[first].name(), "' on ",
                *device);
    if (!isPlain(tensor) && !foreign) {
      throwNotPlain(name, argument.name(), tensor);
    }
  });
}

// A list of sequences' lengths decides values, but no sizes of results.
bool isLengths(std::string_view argument) {
  return argument == "prefix" || argument.starts_with("actual_");
}

// SymInts as plain integers. A symbol is guarded on, as PyTorch's own kernels do; only lengths,
// where no values are computed, are left open, so that one graph serves them all.
void makePlain(const c10::OperatorHandle& op, Stack& stack) {
  const auto& arguments = op.schema().arguments();
  const auto values = torch::jit::last(stack, arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    const IValue& value = values[i];
    const bool list = value.isSymIntList();
    if (C10_LIKELY(!list && !value.isSymInt())) {
      continue;
    }
    const auto plain = [&](const c10::SymInt& number) {
      return number.guard_int(__FILE__, __LINE__);
    };
    IValue& into = stack[stack.size() - arguments.size() + i];
    if (!list) {
      into = plain(value.toSymInt());
      continue;
    }
    const bool open = isLengths(arguments[i].name()) &&
                      std::any_of(values.begin(), values.end(), [](const IValue& other) {
                        return other.isTensor() && other.toTensor().is_meta();
                      });
    std::vector<int64_t> numbers;
    for (const c10::SymInt& number : value.toSymIntVector()) {
      numbers.push_back(open && number.is_symbolic() ? 0 : plain(number));
    }
    into = std::move(numbers);
  }
}

// The kernel for BackendSelect, which is reached before that of any device.
void checkAndGoOn(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  checkArguments(op, torch::jit::last(*stack, op.schema().arguments().size()));
  makePlain(op, *stack);
  static constexpr c10::DispatchKeySet kAfter(c10::DispatchKeySet::FULL_AFTER,
                                              c10::DispatchKey::BackendSelect);
  op.redispatchBoxed(keys & kAfter, stack);
}

// Nested tensors have a key of their own, above that of BackendSelect.
void checkNested(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  checkArguments(op, torch::jit::last(*stack, op.schema().arguments().size()));
  static constexpr c10::DispatchKeySet kAfter(c10::DispatchKeySet::FULL_AFTER,
                                              c10::DispatchKey::AutogradNestedTensor);
  op.redispatchBoxed(keys & kAfter, stack);
}

}  // namespace

void checkArguments(const c10::OperatorHandle& op, c10::ArrayRef<IValue> arguments) {
  const Tensors tensors{arguments};
  const Tensor* first = nullptr;
  bool plain = true;
  tensors.each([&](size_t /*position*/, const Tensor& tensor) {
    if (first == nullptr) first = &tensor;
    plain &= tensor.defined() && isPlain(tensor) && first->defined() &&
             tensor.device() == first->device();
  });
  if (first == nullptr) {
    return;
  }
  if (C10_UNLIKELY(!plain || first->device().is_cpu())) {
    checkOneByOne(op, tensors);
  }
}

void registerCheckedCalls() {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const char* space : {"npu", "atb"}) {
    // They live as long as the process.
    const auto library = [&](c10::DispatchKey key) {
      return new torch::Library(torch::Library::IMPL, space, key, __FILE__, __LINE__);
    };
    auto* all = library(c10::DispatchKey::BackendSelect);
    auto* nested = library(c10::DispatchKey::AutogradNestedTensor);
    for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
      const auto op = dispatcher.findSchema(name);
      if (name.getNamespace() == space && op.has_value() &&
          op->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
        const std::string full = c10::toString(name);
        all->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&checkAndGoOn>());
        nested->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&checkNested>());
      }
    }
  }
}

}  // namespace torch_npu
