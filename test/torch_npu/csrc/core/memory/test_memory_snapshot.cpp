// What the allocator tells about its blocks and its history.
#include <vector>

#include "caching_allocator_test.h"

namespace torch_npu::testing {
namespace {

TEST_F(CachingAllocatorTest, SnapshotShowsSegmentsAndTheStateOfTheirBlocks) {
  Block* held = allocate(1000);
  Block* waiting = allocate(2000);
  allocator->recordStream(waiting, npuStream(kOtherStream));
  fake.streams_complete = false;
  allocator->free(waiting);
  allocate(3 * kMiB, kOtherStream);
  const auto segments = allocator->snapshot();
  ASSERT_EQ(segments.size(), 2U);
  const auto& small = segments[0].is_large ? segments[1] : segments[0];
  const auto& large = segments[0].is_large ? segments[0] : segments[1];
  EXPECT_EQ(small.address, reinterpret_cast<size_t>(held->address));
  EXPECT_EQ(small.total_size, 2 * kMiB);
  EXPECT_EQ(small.allocated_size, 1024U);
  EXPECT_EQ(small.active_size, 1024U + 2048U);
  ASSERT_EQ(small.blocks.size(), 3U);
  EXPECT_TRUE(small.blocks[0].allocated);
  EXPECT_EQ(small.blocks[0].requested_size, 1000U);
  EXPECT_TRUE(small.blocks[1].active && !small.blocks[1].allocated);
  EXPECT_FALSE(small.blocks[2].active);
  EXPECT_EQ(large.stream, reinterpret_cast<void*>(kOtherStream));
  EXPECT_EQ(large.total_size, 20 * kMiB);
}

TEST_F(CachingAllocatorTest, HistoryRecordsWhatHappenedInOrderAndIsBounded) {
  using Entry = MemoryTrace::Entry;
  MemoryTrace::Settings settings;
  settings.enabled = true;
  settings.max_entries = 4;
  allocator->configureTrace(settings, true);
  Block* block = allocate(512);
  allocator->free(block);
  std::vector<Entry::Action> actions;
  for (const Entry& entry : allocator->trace()) {
    actions.push_back(entry.action_);
  }
  EXPECT_EQ(actions, (std::vector<Entry::Action>{Entry::SEGMENT_ALLOC, Entry::ALLOC,
                                                 Entry::FREE_REQUESTED, Entry::FREE_COMPLETED}));
  allocate(512);
  ASSERT_EQ(allocator->trace().size(), 4U);
  EXPECT_EQ(allocator->trace().back().action_, Entry::ALLOC);
}

}  // namespace
}  // namespace torch_npu::testing
