// What the calling thread last did wrong: the text and code behind aclGetRecentErrMsg(),
// aclrtPeekAtLastError() and aclrtGetLastError().
#pragma once

#include <string>

#include "acl/acl_rt.h"

namespace softcann {

// The latest text, or nullptr; reading clears it. Valid until the thread's next call.
const char* takeErrorMessage() noexcept;
aclError lastError() noexcept;
void clearLastError() noexcept;

// Worker side of setTaskError(): takes the text that the task which just ran has left.
std::string takeTaskError() noexcept;

}  // namespace softcann
