#include "torch_npu/csrc/core/caching_host_allocator.h"

#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/allocator_config.h"
#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

namespace {

// For waiting on the host, and for asking how far the stream is.
constexpr uint32_t kEventFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS;

// Adds the time that a scope takes to a statistic.
class DurationScope {
 public:
  DurationScope(at::DurationStat& stat, std::mutex& mutex)
      : stat_(stat), mutex_(mutex), start_(Clock::now()) {}
  ~DurationScope() {
    const auto duration =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
    std::lock_guard<std::mutex> guard(mutex_);
    stat_.increase(duration.count());
  }
  DurationScope(const DurationScope&) = delete;
  DurationScope& operator=(const DurationScope&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  at::DurationStat& stat_;
  std::mutex& mutex_;
  Clock::time_point start_;
};

using HostBlock = at::HostBlock<NPUStream>;

class CachingHostAllocatorImpl final
    : public at::CachingHostAllocatorImpl<NPUStream, acl::UniqueEvent, HostBlock> {
 public:
  void free(void* context) override {
    if (!acl::handlesAbandoned()) {
      at::CachingHostAllocatorImpl<NPUStream, acl::UniqueEvent, HostBlock>::free(context);
    }
  }

  void copy_data(void* destination, const void* source, size_t count) const override {
    std::memcpy(destination, source, count);
  }

 private:
  void allocate_host_memory(size_t size, void** pointer) override {
    ensureAnyContext();
    applyAllocatorEnvironment();
    const DurationScope scope(stats_.host_alloc_time, stats_.timing_mutex_);
    aclError code = acl::api().aclrtMallocHost(pointer, size);
    if (acl::isOutOfMemory(code)) {
      empty_cache();
      code = acl::api().aclrtMallocHost(pointer, size);
    }
    NPU_CHECK_CODE(code, "aclrtMallocHost");
  }

  void free_block(HostBlock* block) override {
    const DurationScope scope(stats_.host_free_time, stats_.timing_mutex_);
    NPU_CHECK_WARN(acl::api().aclrtFreeHost(block->ptr_));
  }

  void record_stream(std::optional<std::vector<acl::UniqueEvent>>& events,
                     NPUStream stream) override {
    const aclrtStream handle = stream.stream();
    acl::UniqueEvent event = acl::createEvent(kEventFlags);
    NPU_CHECK(acl::api().aclrtRecordEvent(event.get(), handle));
    events->push_back(std::move(event));
  }

  bool query_event(acl::UniqueEvent& event) override {
    ensureAnyContext();
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    const aclError code = acl::api().aclrtQueryEventStatus(event.get(), &status);
    // A stream that has failed runs nothing more; whoever synchronises with it learns why.
    return code != ACL_SUCCESS || status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }

  NPUStream get_current_stream() const override { return getCurrentNPUStream(); }

  bool stream_is_capturing(NPUStream stream) const override { return stream.is_capturing(); }
};

void deleteHostBlock(void* context);

struct CachingHostAllocator final
    : at::CachingHostAllocatorInterface<CachingHostAllocatorImpl, deleteHostBlock> {};

CachingHostAllocator* instance() {
  static auto* allocator = new CachingHostAllocator;
  return allocator;
}

void deleteHostBlock(void* context) {
  try {
    instance()->free(context);
  } catch (const std::exception& error) {
    TORCH_WARN("pinned memory could not be taken back: ", error.what());
  }
}

// PyTorch finds the allocator from the moment on that the library is loaded.
const bool registered = [] {
  at::setHostAllocator(at::DeviceType::PrivateUse1, instance());
  return true;
}();

}  // namespace

at::HostAllocator* cachingHostAllocator() { return instance(); }

}  // namespace torch_npu
