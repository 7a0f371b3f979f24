// What this process was told to imitate: the settings in the environment, read once; but the
// visible devices may be chosen until aclInit().
//
//   SOFTCANN_DEVICE_COUNT        number of devices in the machine, 0..64 (8)
//   SOFTCANN_SOC_NAME            chip, e.g. Ascend910B2 (Ascend910B2)
//   SOFTCANN_DEVICE_MEMORY       bytes per device, with an optional suffix K, M, G, T (64G)
//   SOFTCANN_ADDRESS_SPACE       bytes of device addresses reserved for all devices (4T)
//   SOFTCANN_OVERCOMMIT          1: allocate beyond what the machine has available (0)
//   SOFTCANN_RUNTIME_DIR         where processes publish their memory use (see process_registry.h)
//   ASCEND_RT_VISIBLE_DEVICES    e.g. "0,2": devices in ascending order. As in CANN, what stands
//                                behind another character or a device that is not there is not read
//   ASCEND_VISIBLE_DEVICES       where that is not set, e.g. "0-3" or "5,1-2"
//   SOFTCANN_STRICT              1: operators refuse what the card's documents exclude (0)
//   SOFTCANN_HALF_PRECISION      how kernels compute in float16 and bfloat16: native, float32, or
//   as
//                                suits the CPU (auto)
//   SOFTCANN_TRACE               a file that gets a line for each task that ran (stream_trace.cpp)
//   ASCEND_LAUNCH_BLOCKING       1: run every task in the calling thread (0)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl_base.h"
#include "runtime/core/task.h"

namespace softcann {

// What the imitated chip has.
struct SocSpec {
  const char* name;
  int cube_cores;
  int vector_cores;
  int aicpu_cores;
  int64_t l2_bytes;
  int64_t unified_buffer_bytes;  // per vector core
  int64_t architecture;          // as ACL_DEV_ATTR_NPU_ARCH
};

// How operators compute in float16 and bfloat16.
enum class HalfPrecision {
  kAuto,     // in float32, where that is faster on this CPU
  kNative,   // in PyTorch's kernels for these types
  kFloat32,  // in float32, as on a CPU without units for these types
};

struct Platform {
  const SocSpec* soc = nullptr;
  int device_count = 0;  // devices in the machine, visible or not
  size_t device_memory = 0;
  size_t address_space = 0;
  bool address_space_is_default = true;
  bool overcommit = false;
  bool launch_blocking = false;
  bool strict = false;
  HalfPrecision half_precision = HalfPrecision::kAuto;
  int trace_file = -1;  // a descriptor, open for appending; -1 for none
};

// The settings, or nullptr where one is nonsense; then the calling thread's error text names the
// variable and its value.
SOFTCANN_EXPORT const Platform* platform() noexcept;

struct VisibleDevices {
  std::vector<int> physical_ids;
  std::string unread;  // the part of ASCEND_RT_VISIBLE_DEVICES that was not read
};

// From the environment, read at each call until aclInit() calls fixVisibleDevices(). Where a list
// or another setting is nonsense, an error whose text names it.
SOFTCANN_EXPORT aclError readVisibleDevices(VisibleDevices& devices) noexcept;
void fixVisibleDevices(const VisibleDevices& devices);

// Fills `platform` from the environment. Throws std::invalid_argument.
void readPlatform(Platform& platform);

}  // namespace softcann
