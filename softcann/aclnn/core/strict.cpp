#include "aclnn/core/strict.h"

#include "aclnn/softcann_ext.h"
#include "runtime/core/platform.h"

namespace softcann::aclnn {

namespace {

// A nonsensical setting is reported when the first device starts.
bool strictByEnvironment() noexcept {
  const Platform* settings = platform();
  return settings != nullptr && settings->strict;
}

}  // namespace

std::atomic<bool> strict_mode{strictByEnvironment()};

}  // namespace softcann::aclnn

extern "C" {

ACL_FUNC_VISIBILITY bool softcannStrictMode(void) { return softcann::aclnn::strictMode(); }

ACL_FUNC_VISIBILITY void softcannSetStrictMode(bool strict) {
  softcann::aclnn::strict_mode.store(strict, std::memory_order_relaxed);
}

}  // extern "C"
