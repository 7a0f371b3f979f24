// Functions of the public interface that softcann does not implement. Each says so and what to use
// instead; none pretends to have worked. `softcann coverage` lists them from the macros' uses,
// which stand at the beginning of a line in unsupported*.cpp.
#pragma once

#include <string>

#include "runtime/core/task.h"

namespace softcann {

inline aclError refuse(aclError code, const char* function, const char* instead) noexcept {
  return fail(code, std::string(function) + " is not supported by softcann" + instead);
}

inline constexpr const char* kNoBinaries =
    ": device binaries cannot run here; use the aclnn operators";
inline constexpr const char* kNoSharing =
    ": share memory of aclrtMalloc() with aclrtIpcMemGetExportKey()";
inline constexpr const char* kNoCapture =
    ": graphs cannot be captured yet; run the tasks in a stream";

}  // namespace softcann

// name, parameter types, what to say behind "is not supported by softcann"
#define SOFTCANN_UNSUPPORTED(name, parameters, instead) \
  aclError name parameters { return refuse(ACL_ERROR_API_NOT_SUPPORT, #name, instead); }

// With the code that CANN returns for what a chip lacks.
#define SOFTCANN_UNSUPPORTED_FEATURE(name, parameters, instead) \
  aclError name parameters { return refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, #name, instead); }

// Functions that return something else than a code.
#define SOFTCANN_UNSUPPORTED_VALUE(name, parameters, type, value, instead) \
  type name parameters {                                                   \
    refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, #name, instead);              \
    return value;                                                          \
  }
#define SOFTCANN_UNSUPPORTED_VOID(name, parameters, instead) \
  void name parameters { refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, #name, instead); }
