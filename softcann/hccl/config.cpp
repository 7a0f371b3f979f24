// HcclSetConfig: settings of the process, which collectives read. There are no collectives yet, and
// whatever is set holds for them: a program may set what it will need.
#include <atomic>
#include <cstdint>

#include "runtime/core/task.h"

namespace {

constexpr int32_t kSuccess = 0;
constexpr int32_t kParameterError = 1;  // HCCL_E_PARA
constexpr int32_t kPointerError = 2;    // HCCL_E_PTR
constexpr int32_t kDeterministic = 0;   // HCCL_DETERMINISTIC

union ConfigValue {
  int32_t value;
};

std::atomic<int32_t> deterministic{0};

}  // namespace

extern "C" {

SOFTCANN_EXPORT int32_t HcclSetConfig(int32_t config, ConfigValue value) {
  if (config != kDeterministic) {
    softcann::fail(kParameterError, "HcclSetConfig: there is no setting " + std::to_string(config));
    return kParameterError;
  }
  deterministic.store(value.value);
  return kSuccess;
}

SOFTCANN_EXPORT int32_t HcclGetConfig(int32_t config, ConfigValue* value) {
  if (config != kDeterministic) {
    softcann::fail(kParameterError, "HcclGetConfig: there is no setting " + std::to_string(config));
    return kParameterError;
  }
  if (value == nullptr) {
    softcann::fail(kPointerError, "HcclGetConfig: value is null");
    return kPointerError;
  }
  value->value = deterministic.load();
  return kSuccess;
}

}  // extern "C"
