#include "torch_npu/csrc/aten/launch.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/host_wait.h"
#include "torch_npu/csrc/profiler/device_trace.h"

namespace torch_npu {

void* AclnnFunction::bind() {
  const std::string name = name_;
  void* second = acl::opApiSymbol(name.c_str());
  void* first = acl::opApiSymbol((name + "GetWorkspaceSize").c_str());
  TORCH_CHECK_NOT_IMPLEMENTED(first != nullptr && second != nullptr,
                              "the operator library of this CANN (libopapi.so) has no ", name,
                              "; install a newer CANN, or run the operator on the CPU");
  second_phase_ = reinterpret_cast<Execute>(second);
  __atomic_store_n(&first_phase_, first, __ATOMIC_RELEASE);
  return first;
}

bool AclnnFunction::available() {
  return __atomic_load_n(&first_phase_, __ATOMIC_ACQUIRE) != nullptr ||
         acl::opApiSymbol(name_) != nullptr;
}

at::Scalar hostScalar(const at::Tensor& tensor) {
  const void* data = tensor.const_data_ptr();
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return at::Scalar(*static_cast<const double*>(data));
    case at::kFloat:
      return at::Scalar(*static_cast<const float*>(data));
    case at::kLong:
      return at::Scalar(*static_cast<const int64_t*>(data));
    case at::kBool:
      return at::Scalar(*static_cast<const bool*>(data));
    default:
      return tensor.item();
  }
}

namespace detail {

namespace {

using Throw = void (*)(std::string text);

template <class Error>
[[noreturn]] void throwAs(std::string text) {
  throw Error({__func__, __FILE__, __LINE__}, std::move(text));
}

// The error that an operator's message names, as in "aclnnGather: IndexError: …"; else
// RuntimeError.
Throw throwerFor(std::string_view message) {
  static constexpr std::pair<std::string_view, Throw> kThrowers[] = {
      {": IndexError: ", throwAs<c10::IndexError>},
      {": ValueError: ", throwAs<c10::ValueError>},
      {": TypeError: ", throwAs<c10::TypeError>},
      {": NotImplementedError: ", throwAs<c10::NotImplementedError>},
      {": LinAlgError: ", throwAs<c10::LinAlgError>},
  };
  const std::string_view kind = message.substr(std::min(message.find(": "), message.size()));
  for (const auto& [prefix, thrower] : kThrowers) {
    if (kind.substr(0, prefix.size()) == prefix) {
      return thrower;
    }
  }
  return throwAs<c10::Error>;
}

}  // namespace

void noteTensor(LaunchDevice& device, const at::Tensor& tensor) {
  const at::Device found = tensor.device();
  if (found.is_privateuseone() && device.index < 0) {
    device.index = found.index();
    return;
  }
  if (found.is_cpu() && tensor.dim() == 0) {
    return;
  }
  const std::string first =
      device.index < 0 ? "npu" : at::Device(at::kPrivateUse1, device.index).str();
  TORCH_CHECK(found.is_privateuseone() && found.index() == device.index,
              "Expected all tensors to be on the same device, but found at least two devices, ",
              first, " and ", found.str(), "!");
}

__attribute__((tls_model("initial-exec"))) constinit thread_local bool* arguments_checked = nullptr;

namespace {

// The calling thread's flag in the operator library, which `function` gives: an extension of
// softcann that no header of CANN's has. `own` where the library does not have it.
bool* findFlag(const char* function, bool& own) {
  const auto flag = reinterpret_cast<bool* (*)()>(acl::opApiSymbol(function));
  return flag != nullptr ? flag() : &own;
}

}  // namespace

bool* findArgumentsChecked() {
  thread_local bool unread = false;
  arguments_checked = findFlag("softcannArgumentsChecked", unread);
  return arguments_checked;
}

void throwNoDevice(const AclnnFunction& function) {
  TORCH_CHECK(false, function.name(), ": none of the tensors is on an npu device");
}

void throwPhaseOne(const AclnnFunction& function, aclnnStatus status) {
  const std::string message = acl::recentErrorMessage();
  if (acl::isOutOfMemory(status)) {
    acl::throwError(status, {function.name(), function.name(), __FILE__, __LINE__});
  }
  throwerFor(message)(
      c10::str(message.empty() ? function.name() : message, " (npu, error code ", status, ")"));
}

namespace {

// "Phase one could not tell": the calling thread's flag in the operator library, or one that nobody
// sets where the library has none. Null until the thread's first call.
__attribute__((tls_model("initial-exec"))) constinit thread_local bool* call_in_doubt = nullptr;

bool* findCallInDoubt() {
  thread_local bool unset = false;
  call_in_doubt = findFlag("softcannCallInDoubt", unset);
  return call_in_doubt;
}

bool takeDoubt() {
  bool* flag = C10_LIKELY(call_in_doubt != nullptr) ? call_in_doubt : findCallInDoubt();
  return C10_UNLIKELY(*flag) && std::exchange(*flag, false);
}

// Throws the error of what the stream has run, as one of the call that it stands for.
void waitForError(const AclnnFunction& function, aclrtStream stream) {
  const aclError code =
      interruptibly([stream] { return acl::api().aclrtSynchronizeStream(stream); });
  if (code == ACL_SUCCESS) {
    return;
  }
  std::string_view message = acl::recentErrorMessage();
  const std::string failed = std::string(function.name()) + " failed: ";
  if (message.substr(0, failed.size()) != failed) {
    acl::throwError(code, {"aclrtSynchronizeStream", function.name(), __FILE__, __LINE__});
  }
  message.remove_prefix(failed.size());
  throwerFor(message)(c10::str(message, " (npu, error code ", code, ")"));
}

}  // namespace

void enqueue(AclnnFunction& function, LaunchDevice device, uint64_t workspace_size,
             aclOpExecutor* executor) {
  const NPUStream stream = getCurrentNPUStream(device.index);
  const aclrtStream handle = stream.stream();
  const bool in_doubt = takeDoubt();
  c10::DataPtr workspace;
  if (workspace_size > 0) {
    workspace = cachingAllocator()->allocate(workspace_size);
  }
  {
    const profiler::SpanScope span(profiler::SpanKind::kKernel, function.name(), stream);
    const auto execute = function.executePhase();
    const aclnnStatus status =
        interruptibly([&] { return execute(workspace.get(), workspace_size, executor, handle); });
    if (C10_UNLIKELY(status != ACLNN_SUCCESS)) {
      acl::throwError(status, {function.name(), function.name(), __FILE__, __LINE__});
    }
  }
  // A capture records the call; a wait would end it.
  if (C10_UNLIKELY(in_doubt) && !stream.is_capturing()) {
    waitForError(function, handle);
  }
}

}  // namespace detail
}  // namespace torch_npu
