// Pinned host memory is cached, and kept from reuse while a stream copies from it.
#include <gtest/gtest.h>

#include "bookkeeping_runtime.h"
#include "torch_npu/csrc/core/caching_host_allocator.h"

namespace torch_npu {
namespace {

using testing::BookkeepingRuntime;

c10::Stream defaultStream() {
  return c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::PrivateUse1, 0));
}

class CachingHostAllocatorTest : public ::testing::Test {
 protected:
  CachingHostAllocatorTest() : fake(BookkeepingRuntime::get()), allocator(cachingHostAllocator()) {
    fake.streams_complete = true;
    allocator->empty_cache();
    fake.host_mallocs = fake.host_frees = 0;
  }
  BookkeepingRuntime& fake;
  at::HostAllocator* allocator;
};

TEST_F(CachingHostAllocatorTest, IsRegisteredForTheDevice) {
  EXPECT_EQ(at::getHostAllocator(c10::DeviceType::PrivateUse1), allocator);
}

TEST_F(CachingHostAllocatorTest, MemoryIsCachedUntilTheCacheIsEmptied) {
  void* address = allocator->allocate(1000).get();
  c10::DataPtr again = allocator->allocate(1000);
  EXPECT_EQ(again.get(), address);
  EXPECT_TRUE(again.device().is_cpu());
  EXPECT_EQ(fake.host_mallocs, 1);
  again.clear();
  allocator->empty_cache();
  EXPECT_EQ(fake.host_frees, 1);
}

TEST_F(CachingHostAllocatorTest, MemoryThatAStreamCopiesFromIsNotReusedYet) {
  fake.streams_complete = false;
  c10::DataPtr memory = allocator->allocate(4096);
  void* address = memory.get();
  ASSERT_TRUE(allocator->record_event(memory.get(), memory.get_context(), defaultStream()));
  memory.clear();
  c10::DataPtr meanwhile = allocator->allocate(4096);
  EXPECT_NE(meanwhile.get(), address);
  fake.streams_complete = true;
  EXPECT_EQ(allocator->allocate(4096).get(), address);
}

TEST_F(CachingHostAllocatorTest, ForeignMemoryIsNotRecorded) {
  int elsewhere = 0;
  EXPECT_FALSE(allocator->record_event(&elsewhere, nullptr, defaultStream()));
}

TEST_F(CachingHostAllocatorTest, CountsWhatIsInUse) {
  const int64_t before = allocator->get_stats().active_bytes.current;
  c10::DataPtr memory = allocator->allocate(4096);
  EXPECT_EQ(allocator->get_stats().active_bytes.current, before + 4096);
  memory.clear();
  EXPECT_EQ(allocator->get_stats().active_bytes.current, before);
}

}  // namespace
}  // namespace torch_npu
