// Device times by a pair of events around each operator, for autograd.profiler.profile with
// use_device="npu", which works without a trace of the device.
#include <c10/util/ApproximateClock.h>
#include <c10/util/Exception.h>
#include <torch/csrc/profiler/standalone/privateuse1_observer.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <memory>

#include "torch_npu/csrc/core/npu_event.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu::profiler {
namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

[[noreturn]] void throwNoMarks() {
  TORCH_CHECK_NOT_IMPLEMENTED(false,
                              "npu has no marks outside a trace; use torch.profiler with "
                              "torch.profiler.record_function or torch_npu.npu.mstx");
}

class NPUStubs : public torch::profiler::impl::ProfilerStubs {
 public:
  // On the current stream. Without a context on the current device, or in a capture, no event: the
  // operator has no device time, and no device starts because of a profiler.
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event,
              int64_t* cpu_ns) const override {
    const DeviceIndex current = currentDevice();
    if (device != nullptr) *device = current;
    event->reset();
    if (hasContext(current)) {
      const NPUStream stream = getCurrentNPUStream(current);
      if (!stream.is_capturing()) {
        auto recorded = std::make_shared<NPUEvent>(/*enable_timing=*/true);
        recorded->record(stream);
        *event = std::move(recorded);
      }
    }
    if (cpu_ns != nullptr) *cpu_ns = c10::getTime();
  }

  // In microseconds.
  float elapsed(const ProfilerVoidEventStub* from, const ProfilerVoidEventStub* to) const override {
    TORCH_CHECK(*from != nullptr && *to != nullptr, "the operator ran without a device");
    const auto* start = static_cast<const NPUEvent*>(from->get());
    const auto* end = static_cast<const NPUEvent*>(to->get());
    start->synchronize();
    end->synchronize();
    return static_cast<float>(start->elapsed_time(*end) * 1e3);
  }

  void mark(const char* /*name*/) const override { throwNoMarks(); }
  void rangePush(const char* /*name*/) const override { throwNoMarks(); }
  void rangePop() const override { throwNoMarks(); }

  bool enabled() const override { return deviceCount() > 0; }

  // Each device that this process has used.
  void onEachDevice(std::function<void(int)> op) const override {
    for (DeviceIndex device = 0; device < deviceCount(); ++device) {
      if (!hasContext(device)) continue;
      const NPUGuard guard(device);
      op(device);
    }
  }

  void synchronize() const override {
    if (hasContext(currentDevice())) synchronizeDevice();
  }
};

// ProfilerState.PRIVATEUSE1 emits nothing but marks.
void refuseMarks(const torch::profiler::impl::ProfilerConfig& /*config*/,
                 const std::unordered_set<at::RecordScope>& /*scopes*/) {
  throwNoMarks();
}

NPUStubs stubs;
[[maybe_unused]] const bool is_registered = [] {
  torch::profiler::impl::registerPrivateUse1Methods(&stubs);
  torch::profiler::impl::pushPRIVATEUSE1CallbacksStub.set_privateuse1_dispatch_ptr(&refuseMarks);
  return true;
}();

}  // namespace
}  // namespace torch_npu::profiler
