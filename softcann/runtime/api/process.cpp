// aclInit, aclFinalize, error texts.
#include "runtime/core/process.h"

#include "runtime/core/error_state.h"

using namespace softcann;

extern "C" {

aclError aclInit(const char* configPath) { return initializeProcess(configPath); }

aclError aclFinalize(void) { return finalizeProcess(); }

aclError aclFinalizeReference(uint64_t* refCount) {
  // aclInit() succeeds once, so there is never more than one reference.
  const aclError code = finalizeProcess();
  if (refCount != nullptr) *refCount = processIsReady() ? 1 : 0;
  return code;
}

const char* aclGetRecentErrMsg(void) { return takeErrorMessage(); }

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  if (level != ACL_RT_THREAD_LEVEL) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtPeekAtLastError: unknown level");
  }
  return lastError();
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  const aclError code = aclrtPeekAtLastError(level);
  clearLastError();
  return code;
}

}  // extern "C"
