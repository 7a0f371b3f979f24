// NPU_CHECK: the one way in which the backend turns an AscendCL error code into an exception.
#pragma once

#include <c10/macros/Macros.h>

#include "acl/acl_base.h"

namespace torch_npu::acl {

// Where an AscendCL call stands in the source.
struct CallSite {
  const char* expression;
  const char* function;
  const char* file;
  unsigned line;
};

// Throws for a failed call: c10::OutOfMemoryError where device memory ran out,
// c10::AcceleratorError (with the code) where the device or a task on it failed, else c10::Error.
// The text has the function's name, the code and CANN's own message.
[[noreturn, gnu::cold]] void throwError(aclError code, const CallSite& site);

// Warns instead, for destructors and other places that must not throw.
[[gnu::cold]] void warnError(aclError code, const CallSite& site) noexcept;

// Whether the code says that memory ran out, as opposed to any other failure.
bool isOutOfMemory(aclError code) noexcept;

// CANN's message for the calling thread's last failure; empty if there is none. Reading clears it.
const char* recentErrorMessage() noexcept;

}  // namespace torch_npu::acl

#define TORCH_NPU_CHECK_WITH(handler, expr)                                             \
  do {                                                                                  \
    const aclError npu_check_code = (expr);                                             \
    if (C10_UNLIKELY(npu_check_code != ACL_SUCCESS)) {                                  \
      ::torch_npu::acl::handler(npu_check_code, {#expr, __func__, __FILE__, __LINE__}); \
    }                                                                                   \
  } while (false)

#define NPU_CHECK(expr) TORCH_NPU_CHECK_WITH(throwError, expr)
#define NPU_CHECK_WARN(expr) TORCH_NPU_CHECK_WITH(warnError, expr)
// For a code that the caller has looked at first; `name` is the C function it came from.
#define NPU_CHECK_CODE(code, name)                                                \
  do {                                                                            \
    if (C10_UNLIKELY((code) != ACL_SUCCESS)) {                                    \
      ::torch_npu::acl::throwError((code), {name, __func__, __FILE__, __LINE__}); \
    }                                                                             \
  } while (false)
