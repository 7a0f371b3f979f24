// What memory is handed out, to which stream, and how it is counted.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "caching_allocator_test.h"
#include "torch_npu/csrc/core/caching_allocator.h"

namespace torch_npu::testing {
namespace {

using c10::CachingAllocator::StatType;

TEST_F(CachingAllocatorTest, MemoryThatCameBackIsReusedOnItsStream) {
  for (const size_t size : {size_t{1}, size_t{4096}, 3 * kMiB, 40 * kMiB}) {
    Block* first = allocate(size);
    void* address = first->address;
    allocator->free(first);
    Block* second = allocate(size);
    EXPECT_EQ(second->address, address) << size;
    allocator->free(second);
  }
}

TEST_F(CachingAllocatorTest, MemoryIsNotReusedOnAnotherStream) {
  for (const size_t size : {size_t{512}, 3 * kMiB}) {
    Block* first = allocate(size);
    void* address = first->address;
    allocator->free(first);
    EXPECT_NE(addressOfNew(size, kOtherStream), address) << size;
  }
}

TEST_F(CachingAllocatorTest, RoundsSizesAndSegmentsAsPyTorchDoes) {
  EXPECT_EQ(allocate(1)->size, 512U);
  EXPECT_EQ(allocate(513)->size, 1024U);
  EXPECT_EQ(all(allocator->stats().reserved_bytes).current, static_cast<int64_t>(2 * kMiB));
  EXPECT_EQ(allocate(kMiB + 1)->size, kMiB + 512);
  EXPECT_EQ(all(allocator->stats().reserved_bytes).current, static_cast<int64_t>(22 * kMiB));
  // From 10 MiB on a request has a segment of its own, in steps of 2 MiB.
  EXPECT_EQ(allocate(31 * kMiB)->segment->size(), 32 * kMiB);
  const auto stats = allocator->stats();
  EXPECT_EQ(all(stats.segment).current, 3);
  EXPECT_EQ(stats.segment[static_cast<size_t>(StatType::SMALL_POOL)].current, 1);
}

TEST_F(CachingAllocatorTest, RoundsUpToPowerOfTwoDivisionsWhenConfigured) {
  setAllocatorSettings("roundup_power2_divisions:4");
  allocator->configurationChanged();
  EXPECT_EQ(allocate(1200 * 1024)->size, 1280U * 1024);
  EXPECT_EQ(allocate(5000)->size, 5120U);
}

TEST_F(CachingAllocatorTest, ParkedBlocksMergeBeforeMemoryIsFetched) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 4096; ++i) {
    blocks.push_back(allocate(512));
  }
  ASSERT_EQ(fake.mallocs, 1);
  for (Block* block : blocks) {
    allocator->free(block);
  }
  Block* large_small = allocate(kMiB);
  EXPECT_EQ(fake.mallocs, 1);
  allocator->free(large_small);
}

TEST_F(CachingAllocatorTest, NeighboursMergeInAnyOrder) {
  std::vector<Block*> blocks;
  for (int i = 0; i < 5; ++i) {
    blocks.push_back(allocate(4 * kMiB));
  }
  ASSERT_EQ(fake.mallocs, 1);
  for (const int index : {1, 3, 2, 0, 4}) {
    allocator->free(blocks[static_cast<size_t>(index)]);
  }
  const auto segments = allocator->snapshot();
  ASSERT_EQ(segments.size(), 1U);
  ASSERT_EQ(segments[0].blocks.size(), 1U);
  EXPECT_EQ(segments[0].blocks[0].size, 20 * kMiB);
}

TEST_F(CachingAllocatorTest, UsedOnAnotherStreamIsReusedWhenThatStreamHasPassed) {
  for (const size_t size : {size_t{512}, 3 * kMiB}) {
    Block* block = allocate(size);
    void* address = block->address;
    allocator->recordStream(block, npuStream(kOtherStream));
    fake.streams_complete = false;
    allocator->free(block);
    EXPECT_EQ(all(allocator->stats().allocation).current, 0);
    EXPECT_EQ(all(allocator->stats().active).current, 1);
    Block* meanwhile = allocate(size);
    EXPECT_NE(meanwhile->address, address);
    fake.streams_complete = true;
    Block* afterwards = allocate(size);
    EXPECT_EQ(afterwards->address, address);
    allocator->free(meanwhile);
    allocator->free(afterwards);
    EXPECT_EQ(all(allocator->stats().active).current, 0);
  }
}

TEST_F(CachingAllocatorTest, RecordingTheOwnStreamChangesNothing) {
  Block* block = allocate(512);
  allocator->recordStream(block, npuStream(kStream));
  fake.streams_complete = false;
  void* address = block->address;
  allocator->free(block);
  EXPECT_EQ(addressOfNew(512), address);
}

TEST_F(CachingAllocatorTest, StatisticsAreExact) {
  Block* first = allocate(100);
  Block* second = allocate(5000);
  allocator->free(first);
  Block* third = allocate(200);  // from the bin
  auto stats = allocator->stats();
  EXPECT_EQ(all(stats.allocation).current, 2);
  EXPECT_EQ(all(stats.allocation).allocated, 3);
  EXPECT_EQ(all(stats.allocation).freed, 1);
  EXPECT_EQ(all(stats.allocated_bytes).current, 512 + 5120);
  EXPECT_EQ(all(stats.requested_bytes).current, 200 + 5000);
  EXPECT_EQ(all(stats.active_bytes).current, 512 + 5120);
  EXPECT_EQ(all(stats.inactive_split).current, 1);
  EXPECT_EQ(all(stats.inactive_split_bytes).current, static_cast<int64_t>(2 * kMiB) - 512 - 5120);
  EXPECT_EQ(stats.num_device_alloc, 1);
  allocator->free(second);
  allocator->free(third);
  allocator->emptyCache();
  stats = allocator->stats();
  for (const auto* stat : {&stats.allocation, &stats.allocated_bytes, &stats.requested_bytes,
                           &stats.active, &stats.active_bytes, &stats.inactive_split,
                           &stats.inactive_split_bytes, &stats.segment, &stats.reserved_bytes}) {
    EXPECT_EQ(all(*stat).current, 0);
    EXPECT_EQ(all(*stat).allocated, all(*stat).freed);
  }
  EXPECT_EQ(stats.num_device_free, 1);
}

TEST_F(CachingAllocatorTest, PeakAndAccumulatedStatisticsCanBeReset) {
  Block* kept = allocate(512);
  allocator->free(allocate(8 * kMiB));
  EXPECT_EQ(all(allocator->stats().allocated_bytes).peak, static_cast<int64_t>(8 * kMiB) + 512);
  allocator->resetPeakStats();
  EXPECT_EQ(all(allocator->stats().allocated_bytes).peak, 512);
  allocator->resetAccumulatedStats();
  auto stats = allocator->stats();
  EXPECT_EQ(all(stats.allocation).allocated, 0);
  EXPECT_EQ(all(stats.allocation).freed, 0);
  EXPECT_EQ(all(stats.allocation).current, 1);
  allocator->free(kept);
  stats = allocator->stats();
  EXPECT_EQ(all(stats.allocation).freed, 1);
}

TEST_F(CachingAllocatorTest, ManyThreadsNeverShareMemory) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 4000;
  std::atomic<int> clashes{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(static_cast<unsigned>(thread));
      std::vector<Block*> held;
      for (int round = 0; round < kRounds; ++round) {
        if (held.size() < 20 && (held.empty() || random() % 2 == 0)) {
          const size_t size =
              random() % 8 == 0 ? kMiB + random() % (4 * kMiB) : random() % 9000 + 1;
          Block* block = allocate(size, static_cast<c10::StreamId>(thread % 2));
          *block->address = static_cast<char>(thread);
          held.push_back(block);
        } else {
          std::swap(held[random() % held.size()], held.back());
          clashes += *held.back()->address != static_cast<char>(thread);
          if (random() % 4 == 0) {
            allocator->recordStream(held.back(), npuStream(kOtherStream));
          }
          allocator->free(held.back());
          held.pop_back();
        }
        if (round % 1000 == 999) {
          allocator->emptyCache();
        }
      }
      for (Block* block : held) {
        allocator->free(block);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(clashes, 0);
  allocator->emptyCache();
  EXPECT_EQ(fake.used, 0U);
  EXPECT_EQ(all(allocator->stats().active_bytes).current, 0);
  EXPECT_EQ(all(allocator->stats().inactive_split_bytes).current, 0);
}

// The process's own allocator, on the same device that keeps books.
class RegisteredAllocator : public ::testing::Test {
 protected:
  RegisteredAllocator() { BookkeepingRuntime::get().on_synchronize = nullptr; }
};

TEST_F(RegisteredAllocator, IsPyTorchsDeviceAllocatorAndKnowsItsMemory) {
  auto* allocator = c10::getDeviceAllocator(c10::DeviceType::PrivateUse1);
  ASSERT_EQ(allocator, cachingAllocator());
  c10::DataPtr empty = allocator->allocate(0);
  EXPECT_EQ(empty.get(), nullptr);
  EXPECT_EQ(empty.device().type(), c10::DeviceType::PrivateUse1);
  c10::DataPtr memory = allocator->allocate(1000);
  EXPECT_TRUE(allocator->is_simple_data_ptr(memory));
  const auto [base, size] = cachingAllocator()->baseAllocation(memory);
  EXPECT_LE(base, memory.get());
  EXPECT_EQ(size, 2 * kMiB);
  EXPECT_EQ(all(allocator->getDeviceStats(0).allocated_bytes).current, 1024);
  memory.clear();
  EXPECT_EQ(all(allocator->getDeviceStats(0).allocated_bytes).current, 0);
  EXPECT_EQ(all(allocator->getDeviceStats(1).allocated_bytes).peak, 0);
  EXPECT_THROW(allocator->getDeviceStats(2), c10::Error);
  allocator->emptyCache();
}

TEST_F(RegisteredAllocator, AForkedChildLeavesItsParentsMemoryAlone) {
  c10::DataPtr memory = cachingAllocator()->allocate(5 * kMiB);
  cachingAllocator()->allocate(512);
  const int frees = BookkeepingRuntime::get().frees;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    memory.clear();
    cachingAllocator()->emptyCache();
    bool refused = false;
    try {
      cachingAllocator()->allocate(512);
    } catch (const c10::Error&) {
      refused = true;
    }
    _exit(refused && BookkeepingRuntime::get().frees == frees ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child freed or was given memory of its parent's";
  memory.clear();
  EXPECT_EQ(all(cachingAllocator()->getDeviceStats(0).allocated_bytes).current, 0);
  cachingAllocator()->emptyCache();
}

TEST_F(RegisteredAllocator, RawMemoryIsFreedByItsPointerOnce) {
  void* pointer = cachingAllocator()->allocateRaw(700, 0, kStream);
  ASSERT_NE(pointer, nullptr);
  cachingAllocator()->freeRaw(pointer);
  EXPECT_THROW(cachingAllocator()->freeRaw(pointer), c10::Error);
  cachingAllocator()->emptyCache();
}

}  // namespace
}  // namespace torch_npu::testing
