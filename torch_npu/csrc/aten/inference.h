// Outputs of operators that are not structured and whose row does not say how they are. The
// generated code asks the CPU's kernel, with zeros of the arguments' form, and makes npu tensors of
// its results' form, strides included. The answer is kept: later calls of the same form, which is
// all but the tensors' values, only look it up.
//
//   Inference inference("vdot", self, other);
//   const auto inferred = inference.byKernel(
//       [&](ArgumentCopies& infer) { return at::vdot(infer(self), infer(other)); });
//   at::Tensor out = inference.output(inferred);
//
// A kernel that refuses zeros is asked again with the arguments' values. It raises PyTorch's own
// error, or it accepts the call. PyTorch's meta functions are not asked, but for the few that are
// written in C++ (byMeta): most are Python code, which calls functions that a user may have
// replaced.
//
// An out form may be given outputs of other dtypes than the inferred ones. Whether it takes them is
// asked of the CPU's out form, with copies of all arguments.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <deque>
#include <exception>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
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

// As meta tensors: sizes, strides, dtype and lazy bits.
class MetaArguments final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  at::Tensor operator()(const at::Tensor& tensor) override;
};

// As zeros on the CPU, likewise. A tensor that is there already keeps its values.
class ZeroArguments final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  at::Tensor operator()(const at::Tensor& tensor) override;
};

// With their values, on the CPU. Waits for the device.
class HostArguments final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  at::Tensor operator()(const at::Tensor& tensor) override;
};

// A call with outputs of its own.
class HostCall final : public ArgumentCopies {
 public:
  using ArgumentCopies::operator();
  at::Tensor operator()(const at::Tensor& tensor) override { return arguments_(tensor); }
  // A tensor of the output's dtype and sizes, for the kernel to write.
  at::Tensor& output(const at::Tensor& out);

 private:
  HostArguments arguments_;
  std::deque<at::Tensor> outputs_;  // references stay valid while it grows
};

// Calls `function` below autograd, autocast, Python's modes and the profiler.
void callKernel(c10::function_ref<void()> function);

class Inference {
 public:
  template <class... Args>
  explicit Inference(std::string_view op, const Args&... args) {
    begin(op);
    (add(args), ...);
  }

  // The results' forms, as meta tensors.
  template <class Function>
  auto byKernel(const Function& function) const {
    using Result = decltype(function(std::declval<ArgumentCopies&>()));
    std::vector<at::Tensor> forms;
    if (!find(forms)) {
      forms = formsOf(ask(function));
      remember(forms);
    }
    return assembled<Result>(forms);
  }

  template <class Function>
  auto byMeta(const Function& function) const {
    decltype(function(std::declval<ArgumentCopies&>())) result;
    callKernel([&] {
      MetaArguments arguments;
      result = function(arguments);
    });
    return result;
  }

  // A new npu tensor of the result's form; undefined if the result is.
  at::Tensor output(const at::Tensor& result) const;
  // Resizes an `out` argument. Which dtypes it may have is for the kernel to say.
  void resize(const at::Tensor& out, const at::Tensor& result) const;
  // Throws unless the result fits into self, on which the operator works in place.
  void checkInplace(const at::Tensor& self, const at::Tensor& result) const;

 private:
  void begin(std::string_view op);
  void mix(uint64_t value);

  void add(const at::Tensor& tensor);
  void add(const std::optional<at::Tensor>& tensor);
  void add(const at::ITensorListRef& tensors);
  void add(at::TensorList tensors) { add(at::ITensorListRef(tensors)); }
  void add(const c10::List<std::optional<at::Tensor>>& tensors);
  void add(const at::Scalar& scalar);
  void add(at::IntArrayRef values);
  void add(at::ArrayRef<at::Scalar> scalars);
  void add(std::string_view text);
  void add(double value);
  void add(const std::optional<at::Generator>&) {}
  void add(const at::OptionalIntArrayRef& values) {
    mix(values.has_value());
    if (values.has_value()) add(*values);
  }
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  void add(T value) {
    mix(static_cast<uint64_t>(value));
  }
  template <class T>
  void add(const std::optional<T>& value) {
    mix(value.has_value());
    if (value.has_value()) add(*value);
  }

  bool find(std::vector<at::Tensor>& forms) const;
  void remember(const std::vector<at::Tensor>& forms) const;

  template <class Function>
  static auto ask(const Function& function) {
    decltype(function(std::declval<ArgumentCopies&>())) result;
    callKernel([&] {
      try {
        ZeroArguments zeros;
        result = function(zeros);
        return;
      } catch (const std::exception&) {
      }
      HostArguments values;
      result = function(values);
    });
    return result;
  }

  static at::Tensor formOf(const at::Tensor& result);
  static std::vector<at::Tensor> formsOf(const at::Tensor& result) { return {formOf(result)}; }
  template <class... Tensors>
  static std::vector<at::Tensor> formsOf(const std::tuple<Tensors...>& results) {
    return std::apply([](const auto&... each) { return std::vector{formOf(each)...}; }, results);
  }

  template <class Result>
  static Result assembled(std::vector<at::Tensor>& forms) {
    if constexpr (std::is_same_v<Result, at::Tensor>) {
      return std::move(forms[0]);
    } else {
      return [&]<size_t... I>(std::index_sequence<I...>) {
        return Result{std::move(forms[I])...};
      }(std::make_index_sequence<std::tuple_size_v<Result>>());
    }
  }

  uint64_t form_ = 0;
  std::optional<at::Device> device_;  // of the first npu tensor
};

inline bool haveOtherTypes(const at::Tensor& out, const at::Tensor& inferred) {
  return C10_UNLIKELY(inferred.defined() && out.scalar_type() != inferred.scalar_type());
}

template <class Function>
void askOutputs(const Function& function) {
  callKernel([&] {
    HostCall call;
    function(call);
  });
}

}  // namespace torch_npu
