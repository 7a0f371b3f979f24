// When cached memory is given back, and what happens when there is none left.
#include <string>

#include "caching_allocator_test.h"

namespace torch_npu::testing {
namespace {

TEST_F(CachingAllocatorTest, EmptyCacheGivesBackWhatNobodyHas) {
  Block* kept = allocate(512);
  allocator->free(allocate(2048));
  allocator->free(allocate(2048, kOtherStream));
  allocator->free(allocate(30 * kMiB));
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 2 * kMiB);
  EXPECT_GE(fake.device_synchronizations, 1) << "tasks may still use the memory";
  allocator->free(kept);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 0U);
  EXPECT_TRUE(allocator->snapshot().empty());
}

TEST_F(CachingAllocatorTest, EmptyCacheWaitsForOtherStreams) {
  Block* block = allocate(3 * kMiB);
  allocator->recordStream(block, npuStream(kOtherStream));
  fake.streams_complete = false;
  allocator->free(block);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 0U);
}

DeviceCachingAllocator* host_function_allocator = nullptr;
Block* host_function_block = nullptr;

TEST_F(CachingAllocatorTest, AHostFunctionMayFreeWhileTheCacheIsEmptied) {
  host_function_allocator = allocator.get();
  host_function_block = allocate(512);
  fake.on_synchronize = [] {
    if (host_function_block != nullptr) {
      host_function_allocator->free(host_function_block);
      host_function_block = nullptr;
    }
  };
  allocator->free(allocate(30 * kMiB));
  allocator->emptyCache();
  EXPECT_EQ(host_function_block, nullptr);
}

TEST_F(CachingAllocatorTest, CachedMemoryIsGivenUpBeforeMemoryRunsOut) {
  fake.capacity = 100 * kMiB;
  allocator->free(allocate(60 * kMiB));
  Block* block = allocate(80 * kMiB);
  EXPECT_EQ(block->segment->size(), 80 * kMiB);
  EXPECT_EQ(allocator->stats().num_alloc_retries, 1);
  EXPECT_EQ(allocator->stats().num_ooms, 0);
}

TEST_F(CachingAllocatorTest, OutOfMemorySaysWhatWasAskedAndWhatThereIs) {
  fake.capacity = 100 * kMiB;
  Block* held = allocate(60 * kMiB);
  try {
    allocate(50 * kMiB);
    FAIL() << "50 MiB do not fit";
  } catch (const c10::OutOfMemoryError& error) {
    const std::string text = error.what_without_backtrace();
    for (const char* part :
         {"NPU out of memory. Tried to allocate 50.00 MiB", "NPU 0", "capacity of 100.00 MiB",
          "40.00 MiB is free", "60.00 MiB is allocated", "0 bytes is reserved but unallocated"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in: " << text;
    }
  }
  EXPECT_EQ(allocator->stats().num_ooms, 1);
  EXPECT_NO_THROW(allocate(30 * kMiB)) << "the next smaller allocation works";
  allocator->free(held);
}

TEST_F(CachingAllocatorTest, AbsurdSizesAreOutOfMemoryToo) {
  EXPECT_THROW(allocate(SIZE_MAX), c10::OutOfMemoryError);
  EXPECT_THROW(allocate(SIZE_MAX / 2), c10::OutOfMemoryError);
  EXPECT_THROW(allocate(size_t{1} << 59), c10::OutOfMemoryError);
}

TEST_F(CachingAllocatorTest, MemoryFractionLimitsThisProcess) {
  allocator->setMemoryFraction(0.25);
  EXPECT_EQ(allocator->memoryFraction(), 0.25);
  Block* block = allocate(200 * kMiB);
  EXPECT_THROW(allocate(100 * kMiB), c10::OutOfMemoryError);
  allocator->free(block);
  EXPECT_NO_THROW(allocate(100 * kMiB)) << "the cache counts too, and is given up";
  EXPECT_THROW(allocator->setMemoryFraction(1.5), c10::ValueError);
}

TEST_F(CachingAllocatorTest, MaxSplitSizeKeepsLargeBlocksWhole) {
  setAllocatorSettings("max_split_size_mb:32,max_non_split_rounding_mb:32");
  Block* large = allocate(100 * kMiB);
  EXPECT_EQ(allocator->stats().oversize_allocations.current, 1);
  void* address = large->address;
  allocator->free(large);
  EXPECT_NE(addressOfNew(16 * kMiB), address);
  EXPECT_NE(addressOfNew(60 * kMiB), address) << "40 MiB would be wasted";
  EXPECT_EQ(addressOfNew(96 * kMiB), address);
}

TEST_F(CachingAllocatorTest, GarbageCollectionFreesTheOldestSegmentsFirst) {
  setAllocatorSettings("garbage_collection_threshold:0.5");
  fake.capacity = 100 * kMiB;
  allocator->setMemoryFraction(1.0);
  Block* old_block = allocate(30 * kMiB);
  Block* recent_block = allocate(24 * kMiB);
  void* recent = recent_block->address;
  allocator->free(old_block);
  allocator->free(allocate(512));
  allocator->free(recent_block);
  allocate(36 * kMiB);  // above the threshold of 50 MiB by 4
  EXPECT_EQ(allocator->stats().num_alloc_retries, 0);
  EXPECT_EQ(fake.used, (24 + 36 + 2) * kMiB);
  EXPECT_EQ(addressOfNew(24 * kMiB), recent);
}

TEST_F(CachingAllocatorTest, AFailedDeviceKeepsItsMemoryAndTheErrorIsReported) {
  allocator->free(allocate(30 * kMiB));
  fake.synchronize_result = 507015;
  EXPECT_THROW(allocator->emptyCache(), c10::AcceleratorError);
  EXPECT_EQ(fake.used, 30 * kMiB);
  fake.synchronize_result = ACL_SUCCESS;
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 0U);
}

}  // namespace
}  // namespace torch_npu::testing
