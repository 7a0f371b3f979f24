// Device: one imitated card, with its memory, its contexts and its streams.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/core/context.h"
#include "runtime/core/device_memory.h"
#include "runtime/core/stream.h"

namespace softcann {

class Device {
 public:
  Device(int id, int physical_id);

  // The device with this (visible) id, or nullptr with the error text set.
  static Device* find(int64_t id, aclError& code) noexcept;
  // All visible devices.
  static std::vector<Device*>& all() noexcept;

  int id() const noexcept { return id_; }
  int physicalId() const noexcept { return physical_id_; }
  DeviceMemory& memory() noexcept { return memory_; }
  Context* primaryContext() noexcept { return &primary_context_; }
  bool isOpen() const noexcept { return uses_.load() > 0; }

  // aclrtSetDevice() and aclrtResetDevice(): counted; the last close frees what is left.
  aclError open() noexcept;
  // `force` drops tasks that have not started; `all_uses` does not count.
  aclError close(bool force, bool all_uses) noexcept;

  void addContext(Context* context);
  void removeContext(Context* context) noexcept;
  Stream* openStream(Context* context, uint32_t priority, uint32_t flags);
  aclError closeStream(Stream* stream, bool drop_tasks) noexcept;

  aclError synchronize(Deadline deadline) noexcept;
  void abortTasks() noexcept;
  // For the end of the process; see process.h.
  void requestStop() noexcept;
  void waitStopped(Deadline deadline) noexcept;

  // Cores that operators may use, by aclrtDevResLimitType.
  std::atomic<uint32_t> core_limit[2];
  int coreCount(int type) const noexcept;

  // Bit i: access to device i was enabled. All devices of a process share its address space, so
  // that this is kept for the program to ask, and copies go on without it.
  std::atomic<uint64_t> enabled_peers{0};

 private:
  // Streams that stay alive while the caller walks them; see Note [Walking streams].
  std::vector<Stream*> pinStreams();
  void unpinStreams() noexcept;

  const int id_;
  const int physical_id_;
  DeviceMemory memory_;
  Context primary_context_;
  std::atomic<int> uses_{0};
  std::mutex open_mutex_;  // opening and closing

  std::mutex mutex_;  // the lists below
  std::vector<Stream*> streams_;
  std::vector<Context*> contexts_;
  std::atomic<uint32_t> walkers_{0};
};

}  // namespace softcann
