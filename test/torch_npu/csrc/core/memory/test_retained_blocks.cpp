// Blocks that somebody besides their client has: other processes that use the memory.
#include "caching_allocator_test.h"

namespace torch_npu::testing {

TEST_F(CachingAllocatorTest, ARetainedBlockTakesOneMoreFree) {
  for (const size_t size : {size_t{512}, size_t{4} * kMiB}) {
    const int64_t before = all(allocator->stats().allocated_bytes).current;
    Block* block = allocate(size);
    void* address = block->address;
    allocator->retain(block);
    allocator->retain(block);
    allocator->free(block);
    allocator->free(block);
    EXPECT_EQ(all(allocator->stats().allocated_bytes).current, before + static_cast<int64_t>(size));
    Block* other = allocate(size);
    EXPECT_NE(other->address, address) << "the memory was given to somebody else";
    allocator->free(block);
    allocator->free(other);
    EXPECT_EQ(all(allocator->stats().allocated_bytes).current, before);
  }
}

TEST_F(CachingAllocatorTest, ARetainedBlockIsNotGivenBackToTheDevice) {
  Block* block = allocate(4 * kMiB);
  allocator->retain(block);
  allocator->free(block);
  allocator->emptyCache();
  EXPECT_GT(fake.used, 0U);
  allocator->free(block);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 0U);
}

TEST_F(CachingAllocatorTest, AfterTheLastFreeABlockIsServedFromTheCacheAgain) {
  Block* block = allocate(512);
  void* address = block->address;
  allocator->retain(block);
  allocator->free(block);
  allocator->free(block);
  const int mallocs = fake.mallocs;
  EXPECT_EQ(addressOfNew(512), address);
  EXPECT_EQ(fake.mallocs, mallocs);
}

}  // namespace torch_npu::testing
