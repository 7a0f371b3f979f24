#include "torch_npu/csrc/aten/fallback.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "torch_npu/csrc/aten/factories.h"
#include "torch_npu/csrc/aten/fallback_counter.h"
#include "torch_npu/csrc/aten/host_tensors.h"
#include "torch_npu/csrc/core/npu_generator.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {
namespace {

using c10::DispatchKey;
using c10::IValue;
using torch::jit::Stack;

bool isNpu(c10::Device device) { return device.type() == c10::DeviceType::PrivateUse1; }

template <typename Visit>
void visitTensors(const IValue& value, Visit visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      visit(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor) {
        visit(*tensor);
      }
    }
  }
}

template <typename Convert>
IValue mapTensors(const IValue& value, Convert convert) {
  if (value.isTensor()) {
    return convert(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> result;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      result.push_back(convert(tensor));
    }
    return result;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> result;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      result.push_back(tensor ? std::make_optional(convert(*tensor)) : std::nullopt);
    }
    return result;
  }
  return value;
}

// Operators that take tensors of the CPU beside those of the device by design: indices, and the
// shapes of nested tensors.
bool mayMixDevices(std::string_view name) {
  static const std::unordered_set<std::string_view> names{
      "aten::index",
      "aten::_unsafe_index",
      "aten::index_put",
      "aten::index_put_",
      "aten::_index_put_impl_",
      "aten::_index_put_impl",
      "aten::_unsafe_index_put",
      "aten::_ctc_loss",
      "aten::_ctc_loss_backward",
      "aten::_pad_packed_sequence",
      "aten::_foreach_copy_",
  };
  return !name.starts_with("aten::") || name.find("nested") != std::string_view::npos ||
         names.contains(name);
}

bool isOptionalGenerator(const c10::Argument& argument) {
  const auto optional = argument.type()->cast<c10::OptionalType>();
  return optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType;
}

// Written although the schema does not say so: the running statistics of native_batch_norm.
bool isWritten(const c10::Argument& argument) {
  return (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) ||
         argument.name() == "running_mean" || argument.name() == "running_var";
}

// A seed for the CPU's Mersenne twister, which uses 32 bits of it, from an npu generator; moves
// that generator on.
uint64_t drawHostSeed(const at::Generator& generator) {
  auto& impl = *static_cast<NPUGeneratorImpl*>(generator.unsafeGetGeneratorImpl());
  const auto [seed, offset] = impl.philoxSeedOffset(4);
  uint64_t mixed = seed + 0x9E3779B97F4A7C15u * (offset + 1);
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return (mixed ^ (mixed >> 31)) & 0xFFFFFFFFu;
}

// For operators that draw numbers without taking a generator: gives the CPU's default generator
// another seed for a while. Numbers that other threads draw from it meanwhile change too.
class DefaultGeneratorSeedGuard {
 public:
  explicit DefaultGeneratorSeedGuard(uint64_t seed)
      : generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard lock(generator_.mutex());
    saved_state_ = generator_.get_state();
    generator_.set_current_seed(seed);
  }
  ~DefaultGeneratorSeedGuard() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(saved_state_);
  }
  DefaultGeneratorSeedGuard(const DefaultGeneratorSeedGuard&) = delete;
  DefaultGeneratorSeedGuard& operator=(const DefaultGeneratorSeedGuard&) = delete;

 private:
  at::Generator generator_;
  at::Tensor saved_state_;
};

// One operator call on the host.
class HostCall {
 public:
  HostCall(const c10::OperatorHandle& op, Stack* stack)
      : op_(op),
        stack_(stack),
        arguments_(torch::jit::last(*stack, op.schema().arguments().size()).vec()),
        device_(findDevice()),
        tensors_(device_) {}

  void run() {
    checkDevices();
    checkNoCapture();
    const NPUGuard device_guard(device_);
    countFallback(op_.operator_name());
    // Below here nothing is differentiated, and the CPU's autocast state is not ours.
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(DispatchKey::AutocastCPU);
    replaceArguments();
    callOnHost();
    writeBack();
    replaceResults();
  }

 private:
  // Where results go: a device argument says it, else the tensors do.
  c10::Device findDevice() const {
    std::optional<c10::Device> device;
    for (const IValue& argument : arguments_) {
      if (argument.isDevice() && isNpu(argument.toDevice())) {
        return resolveDevice(argument.toDevice());
      }
      visitTensors(argument, [&](const at::Tensor& tensor) {
        if (!device && tensor.defined() && isNpu(tensor.device())) {
          device = tensor.device();
        }
      });
    }
    return resolveDevice(device);
  }

  // PyTorch's rule for other devices: all tensors on one, numbers of the CPU excepted.
  void checkDevices() const {
    if (mayMixDevices(op_.operator_name().name)) {
      return;
    }
    std::optional<c10::Device> npu;
    std::optional<c10::Device> other;
    const std::vector<c10::Argument>& parameters = op_.schema().arguments();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      visitTensors(arguments_[i], [&](const at::Tensor& tensor) {
        if (!tensor.defined()) {
          return;
        }
        const bool is_number = tensor.device().is_cpu() && tensor.dim() == 0 &&
                               !tensor.is_nested() && !isWritten(parameters[i]);
        if (isNpu(tensor.device()) && (!npu || *npu == tensor.device())) {
          npu = tensor.device();
        } else if (!is_number) {
          other = tensor.device();
        }
      });
    }
    TORCH_CHECK(!npu || !other,
                "Expected all tensors to be on the same device, but found at least two devices, ",
                *npu, " and ", *other, "! (when running ", name(), ")");
  }

  void checkNoCapture() const {
    TORCH_CHECK_NOT_IMPLEMENTED(!getCurrentNPUStream(device_.index()).is_capturing(), name(),
                                " has no npu kernel; it runs on the host and cannot be captured "
                                "into a graph. Call it outside the capture.");
  }

  std::string name() const { return c10::toString(op_.operator_name()); }

  void replaceArguments() {
    torch::jit::drop(*stack_, arguments_.size());
    const std::vector<c10::Argument>& parameters = op_.schema().arguments();
    bool draws = op_.hasTag(at::Tag::nondeterministic_seeded);
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const IValue& value = arguments_[i];
      if (value.isGenerator() || (value.isNone() && draws && isOptionalGenerator(parameters[i]))) {
        draws = false;
        stack_->emplace_back(hostGenerator(value));
      } else if (value.isDevice()) {
        asks_for_cpu_ = value.toDevice().is_cpu();
        stack_->emplace_back(isNpu(value.toDevice()) ? c10::Device(c10::DeviceType::CPU)
                                                     : value.toDevice());
      } else if (value.isStorage()) {
        stack_->emplace_back(tensors_.toHost(value.toStorage()));
      } else {
        stack_->emplace_back(mapTensors(value, [&](const at::Tensor& tensor) {
          at::Tensor host = tensors_.toHost(tensor);
          host_keys_ = host_keys_ | host.key_set();
          return host;
        }));
      }
    }
    if (draws) {
      seed_guard_.emplace(drawHostSeed(getDefaultNPUGenerator(device_.index())));
    }
  }

  at::Generator hostGenerator(const IValue& value) const {
    const at::Generator generator =
        value.isNone() ? getDefaultNPUGenerator(device_.index()) : value.toGenerator();
    TORCH_CHECK(isNpu(generator.device()), "Expected a '", device_,
                "' device type for generator but found '", generator.device(), "'");
    return at::detail::createCPUGenerator(drawHostSeed(generator));
  }

  void callOnHost() {
    static const c10::DispatchKeySet lazy(
        {DispatchKey::Conjugate, DispatchKey::Negative, DispatchKey::ZeroTensor});
    const c10::DispatchKeySet keys =
        (host_keys_ & c10::after_ADInplaceOrView_keyset).remove(DispatchKey::Python) |
        c10::DispatchKeySet(DispatchKey::CPU);
    const DispatchKey kernel_key = (keys - lazy).highestPriorityTypeId();
    TORCH_CHECK_NOT_IMPLEMENTED(op_.hasComputedKernelForDispatchKey(kernel_key), "Could not run '",
                                name(), "' with arguments on ", device_,
                                ": the operator has neither an npu kernel nor one for ", kernel_key,
                                " to fall back to.");
    if ((keys & lazy).empty()) {
      op_.redispatchBoxed(keys, stack_);
      return;
    }
    // Some operators have a fallthrough under these keys, which a redispatch would call and a
    // dispatch skips.
    static const c10::DispatchKeySet above_kernels =
        c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
        c10::DispatchKeySet({DispatchKey::Python, DispatchKey::PythonTLSSnapshot,
                             DispatchKey::FuncTorchDynamicLayerFrontMode,
                             DispatchKey::FuncTorchDynamicLayerBackMode,
                             DispatchKey::Functionalize});
    const c10::impl::ExcludeDispatchKeyGuard guard(above_kernels);
    op_.callBoxed(stack_);
  }

  void writeBack() {
    const std::vector<c10::Argument>& parameters = op_.schema().arguments();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (isWritten(parameters[i])) {
        visitTensors(arguments_[i], [&](const at::Tensor& tensor) {
          if (tensor.defined()) {
            tensors_.writeBack(tensor);
          }
        });
      }
    }
  }

  void replaceResults() {
    const size_t count = op_.schema().returns().size();
    for (size_t i = 0; i < count; ++i) {
      IValue& result = torch::jit::peek(*stack_, i, count);
      result = mapTensors(result, [&](const at::Tensor& tensor) {
        return asks_for_cpu_ || isCpuArgument(tensor) ? tensor : tensors_.toDevice(tensor);
      });
    }
  }

  // Whether the operator has returned a tensor that came from the CPU.
  bool isCpuArgument(const at::Tensor& tensor) const {
    bool found = false;
    for (const IValue& argument : arguments_) {
      visitTensors(argument, [&](const at::Tensor& candidate) {
        found = found || (tensor.defined() && candidate.is_same(tensor));
      });
    }
    return found;
  }

  const c10::OperatorHandle& op_;
  Stack* stack_;
  std::vector<IValue> arguments_;
  c10::Device device_;
  HostTensors tensors_;
  c10::DispatchKeySet host_keys_;
  bool asks_for_cpu_ = false;
  std::optional<DefaultGeneratorSeedGuard> seed_guard_;
};

}  // namespace

void hostFallback(const c10::OperatorHandle& op, Stack* stack) { HostCall(op, stack).run(); }

// A fallback takes only what has no other kernel: composite operators still decompose into
// operators that have one on npu.
#define NPU_REGISTER_HOST_FALLBACK(key)                                     \
  TORCH_LIBRARY_IMPL(_, key, m) {                                           \
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&hostFallback>()); \
  }

NPU_REGISTER_HOST_FALLBACK(PrivateUse1)
NPU_REGISTER_HOST_FALLBACK(SparsePrivateUse1)
NPU_REGISTER_HOST_FALLBACK(SparseCsrPrivateUse1)
NPU_REGISTER_HOST_FALLBACK(QuantizedPrivateUse1)
NPU_REGISTER_HOST_FALLBACK(NestedTensorPrivateUse1)

}  // namespace torch_npu
