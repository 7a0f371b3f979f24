// torch.npu.set_sync_debug_mode(): finding the operations that make the host wait for a stream.
#pragma once

#include <cstdint>

#include <c10/macros/Macros.h>

namespace torch_npu {

enum class SyncDebugMode : uint8_t { kDefault, kWarn, kError };

C10_EXPORT void setSyncDebugMode(SyncDebugMode mode) noexcept;
C10_EXPORT SyncDebugMode syncDebugMode() noexcept;

// To be called before the host waits for a stream, and before anything is enqueued whose memory
// must last until then: warns, throws or does nothing, as the mode says.
C10_EXPORT void reportSynchronization();

}  // namespace torch_npu
