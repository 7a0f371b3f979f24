// Calling an aclnn function with ATen values:
//
//   AclnnFunction aclnnInplaceCopy("aclnnInplaceCopy");
//   launch(aclnnInplaceCopy, self, source);
//
// The arguments stand in the order of the function's C parameters. Both phases run, and the work
// goes into the current stream of the tensors' device.
#pragma once

#include <ATen/core/Tensor.h>

#include <tuple>
#include <utility>

#include "aclnn/acl_meta.h"
#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/aten/descriptors.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

// An operator of CANN, looked up by name at its first call.
class AclnnFunction {
 public:
  explicit constexpr AclnnFunction(const char* name) : name_(name) {}

  const char* name() const { return name_; }
  // Whether this CANN has the function. Loads the operator library.
  bool available();

  void* workspaceSizePhase() {
    void* phase = __atomic_load_n(&first_phase_, __ATOMIC_ACQUIRE);
    return C10_LIKELY(phase != nullptr) ? phase : bind();
  }
  using Execute = aclnnStatus (*)(void*, uint64_t, aclOpExecutor*, aclrtStream);
  Execute executePhase() const { return second_phase_; }

 private:
  void* bind();  // throws if CANN lacks the function

  const char* name_;
  void* first_phase_ = nullptr;
  Execute second_phase_ = nullptr;
};

namespace detail {

// Every tensor of a call is on one device; CPU scalars may accompany it.
void noteTensor(LaunchDevice& device, const at::Tensor& tensor);

// Types that hold a tensor may overload this.
template <class T>
void noteDevice(LaunchDevice& device, const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    if (value.defined() && C10_UNLIKELY(value.device().index() != device.index ||
                                        !value.device().is_privateuseone())) {
      noteTensor(device, value);
    }
  } else if constexpr (std::is_same_v<T, std::optional<at::Tensor>>) {
    if (value) noteDevice(device, *value);
  } else if constexpr (std::is_same_v<T, at::TensorList> ||
                       std::is_same_v<T, std::vector<at::Tensor>> ||
                       std::is_same_v<T, at::ITensorListRef>) {
    for (const at::Tensor& tensor : value) noteDevice(device, tensor);
  } else if constexpr (std::is_same_v<T, c10::List<std::optional<at::Tensor>>>) {
    for (const std::optional<at::Tensor>& tensor : value) noteDevice(device, tensor);
  }
}

// "My arguments are checked": the calling thread's flag in the operator library, or one that nobody
// reads where the library has none. Null until the thread's first call.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local bool* arguments_checked;
bool* findArgumentsChecked();

class ArgumentsChecked {
 public:
  ArgumentsChecked()
      : flag_(C10_LIKELY(arguments_checked != nullptr) ? arguments_checked
                                                       : findArgumentsChecked()) {
    *flag_ = true;
  }
  ArgumentsChecked(const ArgumentsChecked&) = delete;
  ArgumentsChecked& operator=(const ArgumentsChecked&) = delete;
  ~ArgumentsChecked() { *flag_ = false; }

 private:
  bool* flag_;
};

struct NotChecked {};

[[noreturn]] void throwNoDevice(const AclnnFunction& function);

// Throws what a failed phase one means: bad arguments are the caller's error, with PyTorch's type.
[[noreturn]] void throwPhaseOne(const AclnnFunction& function, aclnnStatus status);

// Phase two. Allocates the workspace, if any, in the stream's order.
void enqueue(AclnnFunction& function, LaunchDevice device, uint64_t workspace_size,
             aclOpExecutor* executor);

template <class Promise, class... Args>
void launch(AclnnFunction& function, const Args&... args) {
  LaunchDevice device;
  (noteDevice(device, args), ...);
  if (C10_UNLIKELY(device.index < 0)) {
    throwNoDevice(function);
  }
  using Phase = aclnnStatus (*)(typename Converted<Args>::CType..., uint64_t*, aclOpExecutor**);
  const auto phase = reinterpret_cast<Phase>(function.workspaceSizePhase());
  // Constructed in place by copy elision: a converted value cannot be moved.
  [&](const Converted<Args>&... converted) {
    uint64_t workspace_size = 0;
    aclOpExecutor* executor = nullptr;
    aclnnStatus status;
    {
      [[maybe_unused]] Promise promise;
      status = phase(converted.get()..., &workspace_size, &executor);
    }
    if (C10_UNLIKELY(status != ACLNN_SUCCESS)) {
      throwPhaseOne(function, status);
    }
    enqueue(function, device, workspace_size, executor);
  }(Converted<Args>(asArgument(args), device)...);
}

}  // namespace detail

// Calls a function whose arguments it checks itself.
template <class... Args>
void launch(AclnnFunction& function, const Args&... args) {
  detail::launch<detail::NotChecked>(function, args...);
}

// Calls a function whose shapes and dtypes the caller has inferred already (at::meta).
template <class... Args>
void launchChecked(AclnnFunction& function, const Args&... args) {
  detail::launch<detail::ArgumentsChecked>(function, args...);
}

// A Python number among tensors: a CPU tensor without dimensions that takes part in type promotion
// as a number does.
inline bool isHostScalar(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.unsafeGetTensorImpl()->is_wrapped_number();
}
at::Scalar hostScalar(const at::Tensor& tensor);

inline at::IntArrayRef orEmpty(at::OptionalIntArrayRef values) {
  return values ? *values : at::IntArrayRef();
}

}  // namespace torch_npu
