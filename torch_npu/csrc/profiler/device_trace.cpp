#include "torch_npu/csrc/profiler/device_trace.h"

#include <c10/util/StringUtil.h>

#include <chrono>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <utility>

#include "torch_npu/csrc/core/npu_event.h"
#include "torch_npu/csrc/core/npu_guard.h"

namespace torch_npu::profiler {

struct detail::PendingSpan {
  DeviceSpan span;
  NPUStream stream;
  uint64_t trace = 0;
  int exceptions = 0;
  NPUEvent start{/*enable_timing=*/true};
  NPUEvent end{/*enable_timing=*/true};
};

namespace {

using detail::PendingSpan;

// Attempts to pin the device's clock to the host's; the narrowest one counts.
constexpr int kAnchorAttempts = 8;

struct Trace {
  std::mutex mutex;
  uint64_t number = 0;
  std::vector<std::unique_ptr<PendingSpan>> spans;
  size_t unrecorded = 0;
};

Trace& trace() {
  static auto* trace = new Trace;  // spans may end after static objects do
  return *trace;
}

std::atomic<uint64_t> current_trace{0};

struct Correlations {
  uint64_t trace = 0;
  std::vector<uint64_t> numbers;
};
thread_local Correlations correlations;

uint64_t currentCorrelation() {
  const bool is_current = correlations.trace == current_trace.load(std::memory_order_relaxed);
  return is_current && !correlations.numbers.empty() ? correlations.numbers.back() : 0;
}

int64_t hostNanoseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void countUnrecorded() {
  const std::lock_guard lock(trace().mutex);
  ++trace().unrecorded;
}

// An event, and the host's time at which it ran.
struct Moment {
  NPUEvent event{/*enable_timing=*/true};
  double host_ns = 0;
};

// On an idle device, an event runs between the call that records it and the one that waits.
Moment makeAnchor(DeviceIndex device) {
  const NPUGuard guard(device);
  synchronizeDevice(device);
  const NPUStream stream = getCurrentNPUStream(device);
  Moment best;
  int64_t narrowest = std::numeric_limits<int64_t>::max();
  for (int attempt = 0; attempt < kAnchorAttempts; ++attempt) {
    Moment moment;
    const int64_t before = hostNanoseconds();
    moment.event.record(stream);
    moment.event.synchronize();
    const int64_t width = hostNanoseconds() - before;
    if (width < narrowest) {
      narrowest = width;
      moment.host_ns = static_cast<double>(before) + static_cast<double>(width) / 2;
      best = std::move(moment);
    }
  }
  return best;
}

double elapsedNanoseconds(const NPUEvent& from, const NPUEvent& to) {
  return event::elapsedTime(from.event(), to.event()) * 1e6;
}

// Elapsed times are single-precision milliseconds, so a long one is imprecise: each span of a
// stream, the last one first, is measured from its successor, and only the last from the anchor.
size_t resolveStream(const std::vector<PendingSpan*>& spans, const Moment& anchor,
                     std::vector<DeviceSpan>& resolved) {
  size_t lost = 0;
  const NPUEvent* reference = &anchor.event;
  double reference_ns = anchor.host_ns;
  for (auto pending = spans.rbegin(); pending != spans.rend(); ++pending) {
    try {
      const double end_ns = reference_ns - elapsedNanoseconds((*pending)->end, *reference);
      const double start_ns = end_ns - elapsedNanoseconds((*pending)->start, (*pending)->end);
      DeviceSpan& span = resolved.emplace_back((*pending)->span);
      span.start_ns = static_cast<int64_t>(start_ns);
      span.end_ns = static_cast<int64_t>(end_ns);
      reference = &(*pending)->start;
      reference_ns = start_ns;
    } catch (const std::exception&) {
      ++lost;  // the stream dropped the events together with the work, after an error
    }
  }
  return lost;
}

using SpansByStream = std::map<std::pair<DeviceIndex, c10::StreamId>, std::vector<PendingSpan*>>;

void resolveDevice(DeviceIndex device, const SpansByStream& streams, DeviceTrace& result) {
  size_t lost = 0;
  try {
    const Moment anchor = makeAnchor(device);
    for (const auto& [stream, spans] : streams) {
      if (stream.first == device) {
        lost += resolveStream(spans, anchor, result.spans);
      }
    }
  } catch (const std::exception& error) {
    result.errors.push_back(
        c10::str("npu:", static_cast<int>(device),
                 ": no times of the device's work, because it failed: ", error.what()));
  }
  if (lost > 0) {
    result.errors.push_back(c10::str("npu:", static_cast<int>(device), ": ", lost,
                                     " spans have no time, because their stream dropped them"));
  }
}

}  // namespace

void startTrace() {
  const std::lock_guard lock(trace().mutex);
  trace().spans.clear();
  trace().unrecorded = 0;
  current_trace.store(++trace().number, std::memory_order_relaxed);
  detail::is_tracing.store(true, std::memory_order_release);
}

DeviceTrace stopTrace() {
  std::vector<std::unique_ptr<PendingSpan>> pending;
  DeviceTrace result;
  {
    const std::lock_guard lock(trace().mutex);
    detail::is_tracing.store(false, std::memory_order_release);
    ++trace().number;
    pending.swap(trace().spans);
    if (trace().unrecorded > 0) {
      result.errors.push_back(
          c10::str(trace().unrecorded, " spans have no time: their events could not be recorded"));
    }
  }
  SpansByStream streams;
  for (const std::unique_ptr<PendingSpan>& span : pending) {
    streams[{span->span.device, span->span.stream}].push_back(span.get());
  }
  DeviceIndex resolved = -1;
  for (const auto& [stream, spans] : streams) {
    if (stream.first != resolved) {
      resolved = stream.first;
      resolveDevice(resolved, streams, result);
    }
  }
  return result;
}

void pushCorrelation(uint64_t correlation) {
  const uint64_t current = current_trace.load(std::memory_order_relaxed);
  if (correlations.trace != current) {
    correlations.trace = current;
    correlations.numbers.clear();
  }
  correlations.numbers.push_back(correlation);
}

void popCorrelation() noexcept {
  if (!correlations.numbers.empty()) correlations.numbers.pop_back();
}

void SpanScope::begin(SpanKind kind, const char* name, const NPUStream& stream,
                      size_t bytes) noexcept {
  try {
    if (stream.is_capturing()) return;
    auto pending = std::make_unique<PendingSpan>(PendingSpan{
        {kind, name, stream.device_index(), stream.id(), currentCorrelation(), bytes}, stream});
    {
      const std::lock_guard lock(trace().mutex);
      pending->trace = trace().number;
    }
    pending->exceptions = std::uncaught_exceptions();
    pending->start.record(stream);
    pending_ = pending.release();
  } catch (const std::exception&) {
    countUnrecorded();
  }
}

void SpanScope::end() noexcept {
  std::unique_ptr<PendingSpan> pending(pending_);
  if (std::uncaught_exceptions() > pending->exceptions) return;
  try {
    pending->end.record(pending->stream);
    const std::lock_guard lock(trace().mutex);
    if (pending->trace == trace().number) {
      trace().spans.push_back(std::move(pending));
    }
  } catch (const std::exception&) {
    countUnrecorded();
  }
}

}  // namespace torch_npu::profiler
