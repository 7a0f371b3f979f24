// Which processes use which device, and how much memory each holds: what npu-smi shows, and what
// is missing of a device's capacity in every process.
//
// A process that opens a device keeps a small file, named by its pid, in a directory of its user
// ($SOFTCANN_RUNTIME_DIR, else softcann-<uid> in the system's folder for temporary files), mapped
// and under a write lock. The kernel drops the lock with the process, however it ends: a file
// without a lock is ignored and removed by whoever sees it next.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/core/task.h"

namespace softcann {

void registerDevice(int physical_device) noexcept;
void unregisterDevice(int physical_device) noexcept;
// Cheap: one store. `device` is the visible id.
void publishMemoryUse(int device, size_t bytes) noexcept;
// What the other processes of this user hold of a device. Sequentially consistent with
// publishMemoryUse(): of two processes that first publish and then look, one sees the other.
size_t memoryUseOfOthers(int device) noexcept;
// Removes this process's file, and those of processes that were killed.
void withdrawProcess() noexcept;
// In a forked child: the file is the parent's.
void forgetRecordInChild() noexcept;

struct DeviceUse {
  int physical_device;
  int pid;
  std::string name;
  size_t bytes;
};

// All processes of this user, ordered by device and pid.
SOFTCANN_EXPORT std::vector<DeviceUse> listDeviceUse();

}  // namespace softcann
