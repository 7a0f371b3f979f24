#include "torch_npu/csrc/core/sync_debug.h"

#include <atomic>

#include <c10/util/Exception.h>

namespace torch_npu {

namespace {

std::atomic<SyncDebugMode> current_mode{SyncDebugMode::kDefault};

}  // namespace

void setSyncDebugMode(SyncDebugMode mode) noexcept { current_mode.store(mode); }

SyncDebugMode syncDebugMode() noexcept { return current_mode.load(std::memory_order_relaxed); }

void reportSynchronization() {
  const SyncDebugMode mode = syncDebugMode();
  if (C10_LIKELY(mode == SyncDebugMode::kDefault)) {
    return;
  }
  TORCH_CHECK(mode == SyncDebugMode::kWarn, "called a synchronizing NPU operation");
  TORCH_WARN("called a synchronizing NPU operation");
}

}  // namespace torch_npu
