// What a program may ask about the capture of graphs, which cannot begin yet (unsupported.cpp).
#include "runtime/api/checks.h"

using namespace softcann;

extern "C" {

aclError aclmdlRICaptureGetInfo(aclrtStream handle, aclmdlRICaptureStatus* status,
                                aclmdlRI* modelRI) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclmdlRICaptureGetInfo", "status", status));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    if (modelRI != nullptr) *modelRI = nullptr;
    return ACL_SUCCESS;
  });
}

}  // extern "C"
