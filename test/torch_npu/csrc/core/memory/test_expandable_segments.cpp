// Segments that grow in place, granule by granule.
#include <algorithm>

#include "caching_allocator_test.h"

namespace torch_npu::testing {
namespace {

TEST_F(CachingAllocatorTest, ExpandableSegmentsGrowInPlace) {
  setAllocatorSettings("expandable_segments:True");
  Block* first = allocate(30 * kMiB);
  EXPECT_EQ(fake.used, 40 * kMiB) << "granules of 20 MiB";
  Block* second = allocate(30 * kMiB);
  EXPECT_EQ(second->address, first->address + 30 * kMiB);
  EXPECT_EQ(fake.used, 60 * kMiB);
  void* base = first->address;
  allocator->free(first);
  allocator->free(second);
  Block* both = allocate(100 * kMiB);
  EXPECT_EQ(both->address, base) << "the free part is extended";
  EXPECT_EQ(fake.used, 100 * kMiB);
  EXPECT_EQ(fake.mallocs, 0);
  std::fill_n(both->address, 100 * kMiB, 1);
  allocator->free(both);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 0U);
  EXPECT_TRUE(fake.reservations.empty());
  EXPECT_EQ(all(allocator->stats().reserved_bytes).current, 0);
  EXPECT_EQ(all(allocator->stats().segment).current, 0);
}

TEST_F(CachingAllocatorTest, ExpandableSegmentsGiveBackTheMiddleAndFillItAgain) {
  setAllocatorSettings("expandable_segments:True");
  Block* left = allocate(20 * kMiB);
  Block* middle = allocate(60 * kMiB);
  Block* right = allocate(20 * kMiB);
  void* address = middle->address;
  allocator->free(middle);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 40 * kMiB);
  EXPECT_EQ(allocator->snapshot().size(), 2U) << "an unbacked range divides the segment";
  Block* again = allocate(50 * kMiB);
  EXPECT_EQ(again->address, address);
  EXPECT_EQ(fake.used, 100 * kMiB);
  for (Block* block : {left, again, right}) {
    allocator->free(block);
  }
}

TEST_F(CachingAllocatorTest, ExpandableSegmentsRunOutOfMemoryAndRecover) {
  setAllocatorSettings("expandable_segments:True");
  fake.capacity = 100 * kMiB;
  Block* held = allocate(60 * kMiB);
  EXPECT_THROW(allocate(60 * kMiB), c10::OutOfMemoryError);
  Block* smaller = allocate(40 * kMiB);
  allocator->free(held);
  allocator->free(smaller);
  EXPECT_EQ(all(allocator->stats().allocated_bytes).current, 0);
}

}  // namespace
}  // namespace torch_npu::testing
