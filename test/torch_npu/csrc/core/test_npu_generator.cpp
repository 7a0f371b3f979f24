#include <ATen/EmptyTensor.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>

#include "fake_runtime.h"
#include "torch_npu/csrc/core/npu_generator.h"

namespace torch_npu {
namespace {

TEST(NpuGenerator, ReservesWholePhiloxSteps) {
  NPUGeneratorImpl generator(0);
  generator.set_current_seed(9);
  EXPECT_EQ(generator.philoxSeedOffset(1), std::make_pair(uint64_t{9}, uint64_t{0}));
  EXPECT_EQ(generator.philoxSeedOffset(5), std::make_pair(uint64_t{9}, uint64_t{4}));
  EXPECT_EQ(generator.get_offset(), 12U);
}

TEST(NpuGenerator, ConcurrentReservationsNeverOverlap) {
  NPUGeneratorImpl generator(0);
  std::vector<std::vector<uint64_t>> offsets(4);
  std::vector<std::thread> threads;
  for (auto& own : offsets) {
    threads.emplace_back([&generator, &own] {
      for (int i = 0; i < 1000; ++i) own.push_back(generator.philoxSeedOffset(4).second);
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<uint64_t> all;
  for (const auto& own : offsets) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), 4000U);
}

TEST(NpuGenerator, ACaptureSeesReservationsThroughASharedState) {
  NPUGeneratorImpl generator(0);
  const auto shared = generator.graphsafe_get_state();
  generator.philoxSeedOffset(8);
  EXPECT_EQ(shared->get_offset(), 8U);
  auto other = c10::make_intrusive<NPUGeneratorImpl>(DeviceIndex{0});
  generator.graphsafe_set_state(other);
  EXPECT_EQ(generator.get_offset(), 0U);
  EXPECT_EQ(shared->get_offset(), 8U);
}

TEST(NpuGenerator, ACloneIsIndependent) {
  NPUGeneratorImpl generator(2);
  generator.philoxSeedOffset(4);
  const auto clone = generator.clone();
  EXPECT_EQ(clone->device().index(), 2);
  clone->philoxSeedOffset(4);
  EXPECT_EQ(generator.get_offset(), 4U);
  EXPECT_EQ(clone->get_offset(), 8U);
}

TEST(NpuGenerator, DefaultGeneratorsArePerDevice) {
  const auto& first = getDefaultNPUGenerator(0);
  const auto& second = getDefaultNPUGenerator(1);
  EXPECT_EQ(&first, &getDefaultNPUGenerator(0));
  EXPECT_NE(first.unsafeGetGeneratorImpl(), second.unsafeGetGeneratorImpl());
  EXPECT_EQ(second.device(), c10::Device(c10::DeviceType::PrivateUse1, 1));
  EXPECT_THROW(getDefaultNPUGenerator(4), c10::Error);
}

}  // namespace
}  // namespace torch_npu
