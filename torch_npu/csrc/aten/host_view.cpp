#include "torch_npu/csrc/aten/host_view.h"

#include <c10/util/Exception.h>
#include <c10/util/env.h>

#include <optional>
#include <string>

#include "torch_npu/csrc/acl/runtime_api.h"

namespace torch_npu {
namespace {

using HostViewFunction = void* (*)(const void*);

HostViewFunction findHostView() {
  const std::optional<std::string> setting = c10::utils::get_env("SOFTNPU_HOST_VIEW");
  if (setting == "0") {
    return nullptr;
  }
  TORCH_CHECK(!setting || setting == "1", "SOFTNPU_HOST_VIEW must be 0 or 1, but is '", *setting,
              "'");
  return reinterpret_cast<HostViewFunction>(acl::runtimeSymbol("softcannHostView"));
}

HostViewFunction hostViewFunction() {
  static const HostViewFunction function = findHostView();
  return function;
}

}  // namespace

bool hasHostView() { return hostViewFunction() != nullptr; }

void* hostView(const void* device_pointer) {
  const HostViewFunction function = hostViewFunction();
  return function != nullptr ? function(device_pointer) : nullptr;
}

}  // namespace torch_npu
