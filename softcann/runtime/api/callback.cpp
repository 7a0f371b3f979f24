// Callbacks and host functions.
#include "runtime/core/callback.h"

#include "runtime/api/checks.h"

using namespace softcann;

extern "C" {

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return subscribeReport(threadId, stream);
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return unsubscribeReport(threadId, stream);
  });
}

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream handle) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return launchCallback(stream, fn, userData, blockType == ACL_CALLBACK_BLOCK);
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  return entry([&] { return processReport(timeout); });
}

aclError aclrtLaunchHostFunc(aclrtStream handle, aclrtHostFunc fn, void* args) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return launchHostFunction(stream, fn, args);
  });
}

}  // extern "C"
