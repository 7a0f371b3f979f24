// The device's part of torch.profiler's traces: what ran on which stream, and for which operator.
// PyTorch finds it by the registration below and hands it to Kineto, which asks for a session per
// trace.
#ifndef USE_KINETO
#define USE_KINETO  // as PyTorch's wheels are built; its headers declare the registry only then
#endif
#include <c10/util/Exception.h>
#include <c10/util/StringUtil.h>
#include <libkineto.h>
#include <output_base.h>
#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "torch_npu/csrc/profiler/device_trace.h"

namespace torch_npu::profiler {
namespace {

using libkineto::ActivityType;

ActivityType activityType(SpanKind kind) {
  return kind == SpanKind::kMemcpy ? ActivityType::GPU_MEMCPY : ActivityType::CONCURRENT_KERNEL;
}

// A stream as the 32-bit number of a row: its own id where that fits, as it does for all but
// streams made elsewhere.
int32_t rowOf(c10::StreamId stream) {
  return static_cast<int32_t>((stream ^ (stream >> 31)) & 0x7fffffff);
}

class Session : public libkineto::IActivityProfilerSession {
 public:
  explicit Session(const std::set<ActivityType>& types) : types_(types) {}

  void start() override {
    startTrace();
    status_ = libkineto::TraceStatus::RECORDING;
  }

  void stop() override {
    if (status_ != libkineto::TraceStatus::RECORDING) return;
    status_ = libkineto::TraceStatus::PROCESSING;
    trace_ = stopTrace();
    for (const std::string& error : trace_.errors) {
      TORCH_WARN("torch.profiler: ", error);
    }
  }

  std::vector<std::string> errors() override { return trace_.errors; }

  void processTrace(libkineto::ActivityLogger& logger) override {
    processTrace(logger, {}, 0, std::numeric_limits<int64_t>::max());
  }

  void processTrace(libkineto::ActivityLogger& logger,
                    libkineto::getLinkedActivityCallback linked_activity, int64_t start_time,
                    int64_t end_time) override {
    buffer_->span = libkineto::TraceSpan(start_time, end_time, "npu");
    std::set<DeviceIndex> devices;
    std::set<std::pair<DeviceIndex, c10::StreamId>> streams;
    for (const DeviceSpan& span : trace_.spans) {
      // Not held against the window of the trace: the session was open when the call was made, and
      // on a busy machine the two clocks may differ by more than the window's edge.
      if (!types_.contains(activityType(span.kind))) continue;
      if (devices.insert(span.device).second) logDevice(logger, span.device, start_time);
      if (streams.emplace(span.device, span.stream).second) {
        logStream(logger, span, start_time);
      }
      logSpan(logger, span, linked_activity);
    }
  }

  // Several devices may take part, so their names go straight to the logger.
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override { return {}; }

  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override {
    buffer_->gpuOpCount = static_cast<int>(buffer_->activities.size());
    return std::move(buffer_);
  }

  void pushCorrelationId(uint64_t id) override { pushCorrelation(id); }
  void popCorrelationId() override { popCorrelation(); }

 private:
  static void logDevice(libkineto::ActivityLogger& logger, DeviceIndex device, int64_t time) {
    const std::string name = c10::str("npu:", static_cast<int>(device));
    logger.handleDeviceInfo({device, libkineto::kExceedMaxPid + device, name, name}, time);
  }

  static void logStream(libkineto::ActivityLogger& logger, const DeviceSpan& span, int64_t time) {
    const int32_t row = rowOf(span.stream);
    logger.handleResourceInfo({row, row, span.device, c10::str("stream ", span.stream)}, time);
  }

  void logSpan(libkineto::ActivityLogger& logger, const DeviceSpan& span,
               const libkineto::getLinkedActivityCallback& linked_activity) {
    buffer_->emplace_activity(buffer_->span, activityType(span.kind), span.name);
    libkineto::GenericTraceActivity& activity = *buffer_->activities.back();
    activity.startTime = span.start_ns;
    activity.endTime = span.end_ns;
    activity.device = span.device;
    activity.resource = rowOf(span.stream);
    activity.threadId = activity.resource;
    activity.id = static_cast<int32_t>(span.correlation);
    activity.addMetadata("device", static_cast<int>(span.device));
    activity.addMetadata("stream", span.stream);
    activity.addMetadata("correlation", span.correlation);
    if (span.kind == SpanKind::kMemcpy) {
      activity.addMetadata("bytes", span.bytes);
    }
    if (linked_activity && span.correlation != 0) {
      activity.linked = linked_activity(activity.id);
    }
    activity.log(logger);
  }

  std::set<ActivityType> types_;
  DeviceTrace trace_;
  // The logger keeps pointers to the activities, and these one to the buffer's span: the buffer
  // goes to Kineto as it is.
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ =
      std::make_unique<libkineto::CpuTraceBuffer>();
};

class ActivityProfiler : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return types_; }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      const std::set<ActivityType>& types, const libkineto::Config& /*config*/) override {
    return std::make_unique<Session>(types);
  }

  std::unique_ptr<libkineto::IActivityProfilerSession> configure(
      int64_t /*start_ms*/, int64_t /*duration_ms*/, const std::set<ActivityType>& types,
      const libkineto::Config& config) override {
    return configure(types, config);
  }

 private:
  std::string name_ = "npu";
  std::set<ActivityType> types_{ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY};
};

REGISTER_PRIVATEUSE1_PROFILER(ActivityProfiler);

}  // namespace
}  // namespace torch_npu::profiler
