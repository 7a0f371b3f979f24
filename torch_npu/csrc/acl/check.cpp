#include "torch_npu/csrc/acl/check.h"

#include <cctype>
#include <string>
#include <string_view>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/runtime_api.h"

namespace torch_npu::acl {

namespace {

constexpr aclError kMemoryAllocation = 207001;
constexpr aclError kDeviceOutOfMemory = 207018;
// Runtime and driver failures: the device, or a task on it, has failed.
constexpr aclError kFirstDeviceError = 507000;
constexpr aclError kLastDeviceError = 507999;

bool isIdentifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The called function's name in an expression such as "acl::api().aclrtMalloc(&p, n)": the first
// identifier before a parenthesis that starts with "acl"; the whole expression if there is none.
std::string_view calledFunction(std::string_view expression) {
  for (size_t open = expression.find('('); open != std::string_view::npos;
       open = expression.find('(', open + 1)) {
    size_t begin = open;
    while (begin > 0 && isIdentifier(expression[begin - 1])) {
      --begin;
    }
    const std::string_view name = expression.substr(begin, open - begin);
    if (name.substr(0, 3) == "acl" || name.substr(0, 4) == "Hccl") {
      return name;
    }
  }
  return expression;
}

std::string describe(aclError code, const CallSite& site) {
  std::string text = "NPU error: ";
  text += calledFunction(site.expression);
  text += " returned error code " + std::to_string(code);
  const std::string_view reason = recentErrorMessage();
  if (!reason.empty()) {
    text += ": ";
    text += reason;
  }
  return text;
}

}  // namespace

bool isOutOfMemory(aclError code) noexcept {
  return code == kMemoryAllocation || code == kDeviceOutOfMemory || code == ACL_ERROR_BAD_ALLOC ||
         code == ACL_ERROR_STORAGE_OVER_LIMIT;
}

const char* recentErrorMessage() noexcept {
  if (!available()) {
    return "";
  }
  const char* message = api().aclGetRecentErrMsg();
  return message != nullptr ? message : "";
}

void throwError(aclError code, const CallSite& site) {
  const c10::SourceLocation location{site.function, site.file, site.line};
  std::string text = describe(code, site);
  if (isOutOfMemory(code)) {
    throw c10::OutOfMemoryError(location, std::move(text));
  }
  if (code >= kFirstDeviceError && code <= kLastDeviceError) {
    throw c10::AcceleratorError(location, code, std::move(text));
  }
  throw c10::Error(location, std::move(text));
}

void warnError(aclError code, const CallSite& site) noexcept {
  try {
    TORCH_WARN(describe(code, site), " (in ", site.function, ")");
  } catch (...) {
    // A warning that the user turned into an error cannot leave a destructor.
  }
}

}  // namespace torch_npu::acl
