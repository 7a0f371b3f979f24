// What the driver's library knows: the machine, whatever is visible to the process.
#include <cstdint>

#include "runtime/core/platform.h"
#include "runtime/core/task.h"

namespace {

constexpr int32_t kSuccess = 0;       // DRV_ERROR_NONE
constexpr int32_t kNoDevice = 1;      // DRV_ERROR_NO_DEVICE
constexpr int32_t kInvalidValue = 3;  // DRV_ERROR_INVALID_VALUE

}  // namespace

extern "C" SOFTCANN_EXPORT int32_t drvGetDevNum(uint32_t* count) {
  if (count == nullptr) {
    softcann::fail(kInvalidValue, "drvGetDevNum: num_dev is null");
    return kInvalidValue;
  }
  const softcann::Platform* settings = softcann::platform();
  if (settings == nullptr) return kNoDevice;
  *count = static_cast<uint32_t>(settings->device_count);
  return kSuccess;
}
