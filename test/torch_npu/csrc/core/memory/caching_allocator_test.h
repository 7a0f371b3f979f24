// The fixture of the device allocator's tests: one allocator on a device that keeps books.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "bookkeeping_runtime.h"
#include "torch_npu/csrc/core/allocator_config.h"
#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu::testing {

inline constexpr size_t kMiB = BookkeepingRuntime::kMiB;
inline constexpr c10::StreamId kStream = 0;
inline constexpr c10::StreamId kOtherStream = 1;  // the first of the pool
inline constexpr c10::MempoolId_t kPool{1, 0};

inline c10::Stream npuStream(c10::StreamId id) {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, 0), id);
}

inline const c10::CachingAllocator::Stat& all(const c10::CachingAllocator::StatArray& stat) {
  return stat[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

class CachingAllocatorTest : public ::testing::Test {
 protected:
  CachingAllocatorTest() : fake(BookkeepingRuntime::get()) {
    fake.capacity = 1024 * kMiB;
    fake.mallocs = fake.frees = fake.maps = fake.unmaps = fake.device_synchronizations = 0;
    fake.streams_complete = true;
    fake.on_synchronize = nullptr;
    lazyInit();
    setAllocatorSettings(
        "expandable_segments:False,roundup_power2_divisions:1,max_split_size_mb:1048576,"
        "large_segment_size_mb:20,garbage_collection_threshold:0.99");
    allocator = std::make_unique<DeviceCachingAllocator>(c10::DeviceIndex{0});
  }
  ~CachingAllocatorTest() override {
    allocator.reset();
    EXPECT_EQ(fake.used, 0U) << "device memory was lost";
    setAllocatorSettings("expandable_segments:False,roundup_power2_divisions:1");
  }

  Block* allocate(size_t size, c10::StreamId stream = kStream) {
    return allocator->allocate(size, stream);
  }
  void* addressOfNew(size_t size, c10::StreamId stream = kStream) {
    return allocate(size, stream)->address;
  }

  BookkeepingRuntime& fake;
  std::unique_ptr<DeviceCachingAllocator> allocator;
};

}  // namespace torch_npu::testing
