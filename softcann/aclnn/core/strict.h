// Strict mode: phase one refuses what CANN's operator documents say that the imitated card refuses.
#pragma once

#include <atomic>

namespace softcann::aclnn {

// SOFTCANN_STRICT at first, then what softcannSetStrictMode() (softcann_ext.h) was given last.
extern std::atomic<bool> strict_mode;

// Read by every …GetWorkspaceSize that has limits, so it is one load.
inline bool strictMode() noexcept { return strict_mode.load(std::memory_order_relaxed); }

}  // namespace softcann::aclnn
