// Memory of captured graphs, and of the user's own pools.
#include "caching_allocator_test.h"

namespace torch_npu::testing {
namespace {

TEST_F(CachingAllocatorTest, APrivatePoolKeepsItsMemoryUntilItIsReleased) {
  allocator->free(allocate(512));
  allocator->free(allocate(512));
  allocator->beginAllocateToPool(kPool, [](c10::Stream stream) { return stream.id() == kStream; });
  Block* captured = allocate(512);
  EXPECT_EQ(captured->pool->id, kPool);
  EXPECT_NE(allocate(512, kOtherStream)->pool->id, kPool) << "the filter decides";
  void* address = captured->address;
  allocator->free(captured);
  captured = allocate(512);
  EXPECT_EQ(captured->address, address) << "reused within the capture";
  allocator->free(captured);
  allocator->endAllocateToPool(kPool);
  EXPECT_NE(addressOfNew(512), address) << "not used by others";
  const size_t used = fake.used;
  allocator->emptyCache();
  EXPECT_EQ(fake.used, used) << "a graph still has the pool";
  EXPECT_EQ(allocator->poolUseCount(kPool), 1);
  const auto stats = allocator->stats();
  EXPECT_EQ(all(stats.reserved_bytes_by_private_pools.at(kPool)).current,
            static_cast<int64_t>(2 * kMiB));
  allocator->releasePool(kPool);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, used - 2 * kMiB);
  EXPECT_THROW(allocator->releasePool(kPool), c10::Error);
}

TEST_F(CachingAllocatorTest, NoEventIsRecordedDuringACapture) {
  Block* block = allocate(512);
  allocator->recordStream(block, npuStream(kOtherStream));
  allocator->beginAllocateToPool(kPool, [](c10::Stream) { return false; });
  allocator->free(block);
  void* address = block->address;
  EXPECT_NE(addressOfNew(512), address) << "its other stream has not been asked";
  allocator->endAllocateToPool(kPool);
  EXPECT_EQ(addressOfNew(512), address);
  allocator->releasePool(kPool);
}

TEST_F(CachingAllocatorTest, EventsAreRecordedWhileAThreadUsesAPool) {
  Block* block = allocate(512);
  allocator->recordStream(block, npuStream(kOtherStream));
  allocator->retainPool(kPool);
  allocator->beginThreadAllocateToPool(kPool);
  EXPECT_EQ(allocator->poolUseCount(kPool), 2);
  EXPECT_EQ(allocate(512)->pool->id, kPool);
  const size_t used = fake.used;
  allocator->free(block);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, used - 2 * kMiB) << "waited for and given back while the pool is in use";
  allocator->endAllocateToPool(kPool);
  allocator->releasePool(kPool);
  EXPECT_EQ(allocator->poolUseCount(kPool), 1);
  allocator->releasePool(kPool);
}

TEST_F(CachingAllocatorTest, OfTwoPoolsTheLaterOneServes) {
  const c10::MempoolId_t later{0, 99};
  allocator->beginAllocateToPool(kPool, [](c10::Stream) { return true; });
  allocator->beginThreadAllocateToPool(later);
  EXPECT_THROW(allocator->beginThreadAllocateToPool(kPool), c10::Error) << "in use already";
  EXPECT_EQ(allocate(512)->pool->id, later);
  allocator->endAllocateToPool(later);
  EXPECT_EQ(allocate(512)->pool->id, kPool);
  allocator->endAllocateToPool(kPool);
  EXPECT_EQ(allocator->poolUseCount(kPool), 1) << "a use that was refused does not count";
}

}  // namespace
}  // namespace torch_npu::testing
