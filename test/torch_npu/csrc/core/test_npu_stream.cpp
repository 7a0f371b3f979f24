#include <c10/core/StreamGuard.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "fake_runtime.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {
namespace {

using testing::FakeRuntime;

TEST(NpuStream, ThePoolGoesRoundAndCreatesStreamsWhenTheyAreUsed) {
  const int before = FakeRuntime::get().created_streams;
  std::vector<NPUStream> streams;
  for (int i = 0; i <= kStreamsPerPool; ++i) {
    streams.push_back(getNPUStreamFromPool(0, 1));
  }
  EXPECT_EQ(FakeRuntime::get().created_streams, before);
  std::set<aclrtStream> handles;
  for (const auto& stream : streams) handles.insert(stream.stream());
  EXPECT_EQ(handles.size(), static_cast<size_t>(kStreamsPerPool));
  EXPECT_EQ(FakeRuntime::get().created_streams, before + kStreamsPerPool);
  EXPECT_EQ(streams.front(), streams.back());
}

TEST(NpuStream, APriorityIsHigherForCannToo) {
  getNPUStreamFromPool(0, 2).stream();
  getNPUStreamFromPool(-1, 2).stream();
  const auto& priorities = FakeRuntime::get().priorities;
  EXPECT_EQ(priorities[priorities.size() - 2], 7U);
  EXPECT_EQ(priorities.back(), 6U);
}

TEST(NpuStream, PrioritiesAreClamped) {
  EXPECT_EQ(NPUStream::priority_range(), std::make_pair(0, 1 - kMaxStreamPriorities));
  EXPECT_EQ(getNPUStreamFromPool(-100).priority(), 1 - kMaxStreamPriorities);
  EXPECT_EQ(getNPUStreamFromPool(100).priority(), 0);
}

TEST(NpuStream, TheHandleComesWithAContextOnItsDevice) {
  std::thread([] {
    setDevice(0);
    getDefaultNPUStream(3).stream();
    EXPECT_EQ(FakeRuntime::get().context, 3);
    EXPECT_EQ(currentDevice(), 0);
  }).join();
}

TEST(NpuStream, TheDefaultStreamIsOneHandlePerDevice) {
  EXPECT_EQ(getDefaultNPUStream(1).stream(), getDefaultNPUStream(1).stream());
  EXPECT_NE(getDefaultNPUStream(1).stream(), getDefaultNPUStream(2).stream());
  EXPECT_EQ(getDefaultNPUStream(1).id(), 0);
}

TEST(NpuStream, GuardsSelectAndRestorePerThread) {
  const NPUStream stream = getNPUStreamFromPool(0, 1);
  setDevice(0);
  {
    const c10::StreamGuard guard(stream.unwrap());
    EXPECT_EQ(currentDevice(), 1);
    EXPECT_EQ(getCurrentNPUStream(), stream);
    EXPECT_EQ(getCurrentNPUStream(0), getDefaultNPUStream(0));
    std::thread([] { EXPECT_EQ(getCurrentNPUStream(1), getDefaultNPUStream(1)); }).join();
  }
  EXPECT_EQ(currentDevice(), 0);
  EXPECT_EQ(getCurrentNPUStream(1), getDefaultNPUStream(1));
}

TEST(NpuStream, AForeignHandleIsKeptAndAnOwnOneRecognised) {
  const auto foreign = reinterpret_cast<aclrtStream>(uintptr_t{0xABCDE0});
  EXPECT_EQ(getNPUStreamFromExternal(foreign, 1).stream(), foreign);
  const NPUStream own = getNPUStreamFromPool(-1, 1);
  EXPECT_EQ(getNPUStreamFromExternal(own.stream(), 1), own);
  EXPECT_EQ(getNPUStreamFromExternal(getDefaultNPUStream(1).stream(), 1).id(), 0);
  EXPECT_EQ(getNPUStreamFromExternal(nullptr, 1).id(), 0);
  EXPECT_THROW(getNPUStreamFromExternal(reinterpret_cast<aclrtStream>(uintptr_t{0x123})),
               c10::Error);
}

TEST(NpuStream, AnIdThatNamesNoStreamIsRefused) {
  const auto device = c10::Device(c10::DeviceType::PrivateUse1, 1);
  for (const c10::StreamId id :
       {c10::StreamId{32 << 4 | 1}, c10::StreamId{5 << 1 | 1}, c10::StreamId{-1}}) {
    EXPECT_THROW(NPUStream(c10::Stream(c10::Stream::UNSAFE, device, id)).stream(), c10::Error);
  }
}

TEST(NpuStream, AStreamOfAnotherDeviceTypeIsRefused) {
  EXPECT_THROW(NPUStream(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::CPU))),
               c10::Error);
}

}  // namespace
}  // namespace torch_npu
