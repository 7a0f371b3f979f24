#include "torch_npu/csrc/core/caching_allocator.h"

#include <pthread.h>

#include <mutex>
#include <unordered_map>

#include <c10/util/ApproximateClock.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/core/allocator_config.h"
#include "torch_npu/csrc/core/ipc/shared_storage.h"
#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/memory/pluggable_allocator.h"
#include "torch_npu/csrc/core/npu_memcpy.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

namespace {

c10::Device npuDevice(DeviceIndex device) {
  return c10::Device(c10::DeviceType::PrivateUse1, device);
}

C10_NOINLINE void reportUsage(const Block& block, int64_t change) {
  const auto [allocated, reserved] = block.owner->usage();
  c10::reportMemoryUsageToProfiler(block.address, change, allocated, reserved,
                                   npuDevice(block.device));
}

// The deleter of every tensor's memory. What comes back after the runtime has ended, or in a
// forked child, belongs to nobody any more.
void deleteBlock(void* context) {
  if (context == nullptr || C10_UNLIKELY(acl::handlesAbandoned())) {
    return;
  }
  auto* block = static_cast<Block*>(context);
  if (C10_UNLIKELY(c10::memoryProfilingEnabled())) {
    reportUsage(*block, -static_cast<int64_t>(block->size));
  }
  block->owner->free(block);
}

// What recordHistory() was last told, and observers, for devices that are first used later.
struct SharedSettings {
  std::mutex mutex;
  MemoryTrace::Settings trace;
  std::vector<CachingAllocator::OutOfMemoryObserver> observers;
  double memory_fraction = 1.0;
};

SharedSettings& sharedSettings() {
  static auto* settings = new SharedSettings;
  return *settings;
}

struct RawBlocks {
  std::mutex mutex;
  std::unordered_map<void*, Block*> blocks;
};

RawBlocks& rawBlocks() {
  static auto* blocks = new RawBlocks;
  return *blocks;
}

// PyTorch finds the allocator from the moment on that the library is loaded.
const bool registered = [] {
  c10::SetAllocator(c10::DeviceType::PrivateUse1, cachingAllocator());
  return true;
}();

}  // namespace

CachingAllocator* cachingAllocator() {
  static auto* allocator = new CachingAllocator;
  return allocator;
}

DeviceCachingAllocator& CachingAllocator::of(DeviceIndex device) {
  if (C10_LIKELY(static_cast<size_t>(device) < allocators_.size())) {
    DeviceCachingAllocator* allocator =
        allocators_[static_cast<size_t>(device)].load(std::memory_order_acquire);
    if (C10_LIKELY(allocator != nullptr)) {
      return *allocator;
    }
  }
  return start(device);
}

C10_NOINLINE DeviceCachingAllocator& CachingAllocator::start(DeviceIndex device) {
  lazyInit();
  checkDeviceIndex(device);
  applyAllocatorEnvironment();
  [[maybe_unused]] static const int fork_handler =
      pthread_atfork(nullptr, nullptr, [] { cachingAllocator()->forgetDevices(); });
  SharedSettings& settings = sharedSettings();
  std::lock_guard<std::mutex> guard(settings.mutex);
  auto& slot = allocators_[static_cast<size_t>(device)];
  if (DeviceCachingAllocator* allocator = slot.load(std::memory_order_relaxed)) {
    return *allocator;
  }
  // Never destroyed: tensors of static lifetime come back later than anything could end it.
  auto allocator = std::make_unique<DeviceCachingAllocator>(device);
  allocator->configureTrace(settings.trace, true);
  for (const OutOfMemoryObserver& observer : settings.observers) {
    allocator->addOutOfMemoryObserver(observer);
  }
  if (settings.memory_fraction < 1.0) {
    allocator->setMemoryFraction(settings.memory_fraction);
  }
  slot.store(allocator.get(), std::memory_order_release);
  return *allocator.release();
}

DeviceCachingAllocator* CachingAllocator::existing(DeviceIndex device) const {
  if (device < 0 || static_cast<size_t>(device) >= allocators_.size() ||
      allocators_[static_cast<size_t>(device)].load(std::memory_order_acquire) == nullptr) {
    checkDeviceIndex(device);
  }
  return allocators_[static_cast<size_t>(device)].load(std::memory_order_acquire);
}

template <class Function>
void CachingAllocator::forEach(Function function) {
  for (auto& slot : allocators_) {
    if (DeviceCachingAllocator* allocator = slot.load(std::memory_order_acquire)) {
      function(*allocator);
    }
  }
}

c10::DataPtr CachingAllocator::allocate(size_t size) {
  const DeviceIndex device = currentDevice();
  if (C10_UNLIKELY(size == 0)) {
    return {nullptr, nullptr, &deleteBlock, npuDevice(device)};
  }
  if (PluggableAllocator* other = replacementAllocator(); C10_UNLIKELY(other != nullptr)) {
    return other->allocateTensor(size, device);
  }
  Block* block = of(device).allocate(size, getCurrentNPUStream(device).id());
  if (C10_UNLIKELY(c10::memoryProfilingEnabled())) {
    reportUsage(*block, static_cast<int64_t>(block->size));
  }
  return {block->address, block, &deleteBlock, npuDevice(device)};
}

bool CachingAllocator::is_simple_data_ptr(const c10::DataPtr& data_ptr) const {
  return data_ptr.get_deleter() == &deleteBlock;
}

void CachingAllocator::copy_data(void* destination, const void* source, size_t count) const {
  memcpyAsync(destination, source, count, ACL_MEMCPY_DEVICE_TO_DEVICE, getCurrentNPUStream());
}

bool CachingAllocator::initialized() { return isInitialized(); }

void CachingAllocator::emptyCache(c10::MempoolId_t pool) {
  forEach([&](DeviceCachingAllocator& allocator) { allocator.emptyCache(pool); });
}

void CachingAllocator::recordStream(const c10::DataPtr& data_ptr, c10::Stream stream) {
  if (ipc::isReceived(data_ptr)) {
    ipc::recordStreamOfReceived(data_ptr, stream);
    return;
  }
  // Memory of other origin is its owner's business.
  if (data_ptr.get_context() == nullptr || data_ptr.get_deleter() != &deleteBlock) {
    return;
  }
  TORCH_CHECK(stream.device_type() == c10::DeviceType::PrivateUse1,
              "record_stream: expected a stream of an npu device, but got one of ",
              stream.device());
  auto* block = static_cast<Block*>(data_ptr.get_context());
  block->owner->recordStream(block, stream);
}

c10::CachingDeviceAllocator::DeviceStats CachingAllocator::getDeviceStats(DeviceIndex device) {
  const DeviceCachingAllocator* allocator = existing(device);
  return allocator != nullptr ? allocator->stats() : AllocatorStats().deviceStats();
}

void CachingAllocator::resetAccumulatedStats(DeviceIndex device) {
  if (DeviceCachingAllocator* allocator = existing(device)) {
    allocator->resetAccumulatedStats();
  }
}

void CachingAllocator::resetPeakStats(DeviceIndex device) {
  if (DeviceCachingAllocator* allocator = existing(device)) {
    allocator->resetPeakStats();
  }
}

std::pair<size_t, size_t> CachingAllocator::getMemoryInfo(DeviceIndex device) {
  const DeviceMemory memory = queryDeviceMemory(device);
  return {memory.free, memory.total};
}

void* CachingAllocator::allocateRaw(size_t size, DeviceIndex device, c10::StreamId stream) {
  if (size == 0) {
    return nullptr;
  }
  Block* block = of(device).allocate(size, stream);
  RawBlocks& raw = rawBlocks();
  std::lock_guard<std::mutex> guard(raw.mutex);
  raw.blocks[block->address] = block;
  return block->address;
}

void CachingAllocator::freeRaw(void* pointer) {
  if (pointer == nullptr || acl::handlesAbandoned()) {
    return;
  }
  RawBlocks& raw = rawBlocks();
  Block* block = nullptr;
  {
    std::lock_guard<std::mutex> guard(raw.mutex);
    const auto found = raw.blocks.find(pointer);
    TORCH_CHECK(found != raw.blocks.end(), "invalid device pointer: ", pointer,
                " did not come from caching_allocator_alloc, or was freed");
    block = found->second;
    raw.blocks.erase(found);
  }
  block->owner->free(block);
}

std::pair<void*, size_t> CachingAllocator::baseAllocation(const c10::DataPtr& data_ptr) const {
  TORCH_CHECK(data_ptr.get_context() != nullptr && is_simple_data_ptr(data_ptr), "the memory at ",
              data_ptr.get(), " is not from the NPU caching allocator");
  const Segment* segment = static_cast<const Block*>(data_ptr.get_context())->segment;
  return {segment->base(), segment->size()};
}

void CachingAllocator::setMemoryFraction(double fraction, DeviceIndex device) {
  of(device).setMemoryFraction(fraction);
}

double CachingAllocator::getMemoryFraction(DeviceIndex device) {
  return of(device).memoryFraction();
}

void CachingAllocator::setDefaultMemoryFraction(double fraction) {
  {
    SharedSettings& settings = sharedSettings();
    std::lock_guard<std::mutex> guard(settings.mutex);
    settings.memory_fraction = fraction;
  }
  forEach([&](DeviceCachingAllocator& allocator) { allocator.setMemoryFraction(fraction); });
}

CachingAllocator::Snapshot CachingAllocator::snapshot() {
  Snapshot result;
  c10::ApproximateClockToUnixTimeConverter clock;
  const auto to_nanoseconds = clock.makeConverter();
  result.device_traces.resize(static_cast<size_t>(deviceCount()));
  for (size_t device = 0; device < result.device_traces.size(); ++device) {
    if (DeviceCachingAllocator* allocator = allocators_[device].load(std::memory_order_acquire)) {
      std::vector<SegmentInfo> segments = allocator->snapshot();
      result.segments.insert(result.segments.end(), std::make_move_iterator(segments.begin()),
                             std::make_move_iterator(segments.end()));
      result.device_traces[device] = allocator->trace();
      for (TraceEntry& entry : result.device_traces[device]) {
        entry.time_.t_ = static_cast<time_t>(to_nanoseconds(entry.time_.approx_t_) / 1000);
      }
    }
  }
  return result;
}

void CachingAllocator::recordHistory(bool enabled,
                                     c10::CachingDeviceAllocator::CreateContextFn create_context,
                                     size_t max_entries,
                                     c10::CachingDeviceAllocator::RecordContext when,
                                     bool clear_history) {
  const MemoryTrace::Settings trace{enabled, create_context, max_entries, when};
  {
    SharedSettings& settings = sharedSettings();
    std::lock_guard<std::mutex> guard(settings.mutex);
    settings.trace = trace;
  }
  forEach(
      [&](DeviceCachingAllocator& allocator) { allocator.configureTrace(trace, clear_history); });
}

void CachingAllocator::attachOutOfMemoryObserver(OutOfMemoryObserver observer) {
  {
    SharedSettings& settings = sharedSettings();
    std::lock_guard<std::mutex> guard(settings.mutex);
    settings.observers.push_back(observer);
  }
  forEach([&](DeviceCachingAllocator& allocator) { allocator.addOutOfMemoryObserver(observer); });
}

void CachingAllocator::beginAllocateToPool(DeviceIndex device, c10::MempoolId_t pool,
                                           std::function<bool(c10::Stream)> filter) {
  of(device).beginAllocateToPool(pool, std::move(filter));
}

void CachingAllocator::beginThreadAllocateToPool(DeviceIndex device, c10::MempoolId_t pool) {
  of(device).beginThreadAllocateToPool(pool);
}

void CachingAllocator::retainPool(DeviceIndex device, c10::MempoolId_t pool) {
  of(device).retainPool(pool);
}

void CachingAllocator::endAllocateToPool(DeviceIndex device, c10::MempoolId_t pool) {
  of(device).endAllocateToPool(pool);
}

void CachingAllocator::releasePool(DeviceIndex device, c10::MempoolId_t pool) {
  of(device).releasePool(pool);
}

int CachingAllocator::getPoolUseCount(DeviceIndex device, c10::MempoolId_t pool) {
  return of(device).poolUseCount(pool);
}

void CachingAllocator::forgetDevices() noexcept {
  for (auto& slot : allocators_) {
    slot.store(nullptr, std::memory_order_relaxed);
  }
}

void CachingAllocator::configurationChanged() {
  forEach([](DeviceCachingAllocator& allocator) { allocator.configurationChanged(); });
}

}  // namespace torch_npu
