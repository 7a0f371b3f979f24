#include "torch_npu/csrc/acl/check.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

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

std::string describe(aclError code, const CallSite& site, std::string_view reason) {
  std::string text = "NPU error: ";
  text += calledFunction(site.expression);
  text += " returned error code " + std::to_string(code);
  if (!reason.empty()) {
    text += ": ";
    text += reason;
  }
  return text;
}

using Throw = void (*)(const c10::SourceLocation& location, std::string text);

template <class Error>
[[noreturn]] void throwAs(const c10::SourceLocation& location, std::string text) {
  throw Error(location, std::move(text));
}

// An operator's message may name PyTorch's type of the error, as in "aclnnGather: IndexError: …".
Throw throwerFor(std::string_view reason) {
  static constexpr std::pair<std::string_view, Throw> kThrowers[] = {
      {": IndexError: ", throwAs<c10::IndexError>},
      {": ValueError: ", throwAs<c10::ValueError>},
      {": TypeError: ", throwAs<c10::TypeError>},
      {": NotImplementedError: ", throwAs<c10::NotImplementedError>},
      {": LinAlgError: ", throwAs<c10::LinAlgError>},
  };
  const std::string_view kind = reason.substr(std::min(reason.find(": "), reason.size()));
  for (const auto& [prefix, thrower] : kThrowers) {
    if (kind.substr(0, prefix.size()) == prefix) {
      return thrower;
    }
  }
  return throwAs<c10::Error>;
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
  const std::string reason = recentErrorMessage();
  std::string text = describe(code, site, reason);
  if (isOutOfMemory(code)) {
    throw c10::OutOfMemoryError(location, std::move(text));
  }
  if (code >= kFirstDeviceError && code <= kLastDeviceError) {
    throw c10::AcceleratorError(location, code, std::move(text));
  }
  throwerFor(reason)(location, std::move(text));
}

void warnError(aclError code, const CallSite& site) noexcept {
  try {
    TORCH_WARN(describe(code, site, recentErrorMessage()), " (in ", site.function, ")");
  } catch (...) {
    // A warning that the user turned into an error cannot leave a destructor.
  }
}

}  // namespace torch_npu::acl
