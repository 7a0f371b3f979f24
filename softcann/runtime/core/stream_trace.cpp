// The part of Stream that says which tasks ran, for SOFTCANN_TRACE.
//
// A line for each task, written when it has run and before anybody who waits for it goes on:
// name, device, stream, begin and duration in microseconds (steady clock) and the task's code,
// separated by tabs. Several processes may write to one file: a line is one write.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "runtime/core/device.h"
#include "runtime/core/stream.h"

namespace softcann {

aclError Stream::runTraced(const TaskType* type, void* payload) noexcept {
  if (trace_file_ < 0) return type->run(payload);
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  const auto begin = std::chrono::steady_clock::now();
  const aclError code = type->run(payload);
  const auto duration = std::chrono::steady_clock::now() - begin;
  char line[256];
  const int length = std::snprintf(
      line, sizeof(line), "%.128s\t%d\t%d\t%lld\t%lld\t%d\n", type->name, device_->id(), id_,
      static_cast<long long>(duration_cast<microseconds>(begin.time_since_epoch()).count()),
      static_cast<long long>(duration_cast<microseconds>(duration).count()), code);
  // A full disk loses lines; that is no reason to fail the task.
  [[maybe_unused]] const ssize_t written = write(trace_file_, line, static_cast<size_t>(length));
  return code;
}

}  // namespace softcann
