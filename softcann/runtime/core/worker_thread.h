// What the code of a task may want to know of the thread that runs it.
#pragma once

#include "runtime/core/task.h"

namespace softcann {

// Whether the calling thread is a stream's worker, which runs tasks and nothing else. With
// ASCEND_LAUNCH_BLOCKING=1 tasks run in their callers' threads.
SOFTCANN_EXPORT bool isWorkerThread() noexcept;

}  // namespace softcann
