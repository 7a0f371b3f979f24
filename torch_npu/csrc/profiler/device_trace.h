// When what was put into streams ran, while a profiler asks for it.
//
// Between startTrace() and stopTrace(), a SpanScope around a call that enqueues records an event
// before and one after it. What lies between them is the device's work for that call, at the
// resolution of the device's own clock; stopTrace() turns the events into times of the host's
// system clock. Outside a trace a scope costs one relaxed load.
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu::profiler {

enum class SpanKind : uint8_t { kKernel, kMemcpy };

struct DeviceSpan {
  SpanKind kind = SpanKind::kKernel;
  const char* name = "";  // of static lifetime
  DeviceIndex device = 0;
  c10::StreamId stream = 0;
  uint64_t correlation = 0;  // of the host's operator; 0 if there was none
  size_t bytes = 0;          // of a copy
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

struct DeviceTrace {
  std::vector<DeviceSpan> spans;
  // Each says how many spans are missing, and why.
  std::vector<std::string> errors;
};

namespace detail {
inline std::atomic<bool> is_tracing{false};
struct PendingSpan;
}  // namespace detail

inline bool isTracing() noexcept { return detail::is_tracing.load(std::memory_order_relaxed); }

// Drops what an earlier trace left behind. Starts no device.
void startTrace();

// Waits for the devices that have spans. Without a preceding startTrace(), an empty trace.
DeviceTrace stopTrace();

// The operator, by the profiler's number, that the calling thread's next spans belong to. A number
// of an earlier trace counts no more.
void pushCorrelation(uint64_t correlation);
void popCorrelation() noexcept;

// Neither records nor waits in a stream that is being captured into a graph: the events would
// become part of the graph. If the enqueueing call throws, there is no span.
class SpanScope {
 public:
  SpanScope(SpanKind kind, const char* name, const NPUStream& stream, size_t bytes = 0) {
    if (C10_UNLIKELY(isTracing())) begin(kind, name, stream, bytes);
  }
  ~SpanScope() {
    if (C10_UNLIKELY(pending_ != nullptr)) end();
  }
  SpanScope(const SpanScope&) = delete;
  SpanScope& operator=(const SpanScope&) = delete;

 private:
  void begin(SpanKind kind, const char* name, const NPUStream& stream, size_t bytes) noexcept;
  void end() noexcept;

  detail::PendingSpan* pending_ = nullptr;
};

}  // namespace torch_npu::profiler
