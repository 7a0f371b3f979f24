// Outputs of operators that are not structured, as PyTorch's meta function of the operator infers
// them: the generated code calls the operator on meta tensors and makes npu tensors of the results'
// form.
//
//   MetaInference inference;
//   const auto inferred = inferOutputs(
//       inference, [&](ArgumentCopies& infer) { return at::vdot(infer(self), infer(other)); });
//   at::Tensor out = inference.output(inferred);
//
// An out form may be given outputs of other dtypes than the inferred ones. Whether it takes them is
// asked of the CPU's out form, with copies of all arguments.
//
// Many of these functions are Python code, which torch registers when it is imported. What they
// refuse is asked again of the CPU's kernel, whose word counts: it raises PyTorch's own error, or
// it accepts the call.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <deque>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

namespace torch_npu {

// An operator's arguments as tensors of another device.
class ArgumentCopies {
 public:
  virtual ~ArgumentCopies() = default;
  virtual at::Tensor operator()(const at::Tensor& tensor) = 0;
  std::optional<at::Tensor> operator()(const std::optional<at::Tensor>& tensor);
  std::vector<at::Tensor> operator()(at::TensorList tensors);
  std::vector<at::Tensor> operator()(const at::ITensorListRef& tensors);
  c10::List<std::optional<at::Tensor>> operator()(
      const c10::List<std::optional<at::Tensor>>& tensors);
};

// With their values, on the CPU. Waits for the device.
class HostArguments final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  at::Tensor operator()(const at::Tensor& tensor) override;
};

// And outputs of theirs.
class HostCall final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  at::Tensor operator()(const at::Tensor& tensor) override { return arguments_(tensor); }
  // A tensor of the output's dtype and sizes, for the kernel to write.
  at::Tensor& output(const at::Tensor& out);

 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  HostArguments arguments_;
  std::deque<at::Tensor> outputs_;  // references stay valid while it grows
};

class MetaInference final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  // The argument as a meta tensor: sizes, strides, dtype and lazy bits.
  at::Tensor operator()(const at::Tensor& tensor) override;

  // A new npu tensor of the result's form; undefined if the result is.
  at::Tensor output(const at::Tensor& result) const;
  // Resizes an `out` argument. Which dtypes it may have is for the kernel to say.
  void resize(const at::Tensor& out, const at::Tensor& result) const;
  // Throws unless the result fits into self, on which the operator works in place.
  void checkInplace(const at::Tensor& self, const at::Tensor& result) const;

 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  std::optional<at::Device> device_;
};

inline bool haveOtherTypes(const at::Tensor& out, const at::Tensor& inferred) {
  return C10_UNLIKELY(inferred.defined() && out.scalar_type() != inferred.scalar_type());
}

template <class Function>
void askOutputs(const Function& function) {
  HostCall call;
  function(call);
}

// What `function` gives for meta tensors or, if it throws, for the arguments on the CPU.
template <class Function>
auto inferOutputs(MetaInference& inference, const Function& function)
    -> decltype(function(std::declval<ArgumentCopies&>())) {
  try {
    return function(inference);
  } catch (const std::exception&) {
  }
  HostArguments arguments;
  return function(arguments);
}

}  // namespace torch_npu
