// What is known about a device without touching it: name, sizes, numbers of cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

// A number that CANN does not tell is 0, a text is empty.
struct NPUDeviceProperties {
  std::string name;
  size_t total_memory = 0;
  int64_t cube_core_num = 0;
  int64_t vector_core_num = 0;
  int64_t ai_cpu_core_num = 0;
  int64_t L2_cache_size = 0;
  // In the usual form with dashes.
  std::string uuid;
};

// Read once per device, then kept. Creates a context on the device only where CANN cannot tell the
// size of its memory otherwise.
C10_EXPORT const NPUDeviceProperties& deviceProperties(DeviceIndex device = -1);

// Name of the devices' chip, such as "Ascend910B2"; empty where CANN does not tell.
C10_EXPORT std::string socName();

// Version of the bound CANN, such as "8.5.0"; empty where it does not tell.
C10_EXPORT std::string cannVersion();

}  // namespace torch_npu
