#include <c10/core/Event.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "fake_runtime.h"
#include "torch_npu/csrc/core/npu_event.h"

namespace torch_npu {
namespace {

using testing::FakeRuntime;

TEST(NpuEvent, IsCreatedByItsFirstRecordAndDestroyedWithItsOwner) {
  const int before = FakeRuntime::get().live_events;
  {
    NPUEvent event;
    EXPECT_TRUE(event.query());
    event.synchronize();
    EXPECT_EQ(FakeRuntime::get().live_events, before);
    event.record();
    event.record();
    EXPECT_EQ(FakeRuntime::get().live_events, before + 1);
    EXPECT_FALSE(event.query());
    FakeRuntime::get().completed_events.insert(event.event());
    EXPECT_TRUE(event.query());
  }
  EXPECT_EQ(FakeRuntime::get().live_events, before);
}

TEST(NpuEvent, MovingHandsTheEventOn) {
  const int before = FakeRuntime::get().live_events;
  NPUEvent first;
  first.record();
  NPUEvent second(std::move(first));
  EXPECT_TRUE(second.wasRecorded());
  EXPECT_EQ(FakeRuntime::get().live_events, before + 1);
}

TEST(NpuEvent, AsksForATimelineOnlyWhenItMeasures) {
  NPUEvent plain;
  plain.record();
  EXPECT_EQ(FakeRuntime::get().event_flags.back() & ACL_EVENT_TIME_LINE, 0U);
  c10::Event timed(c10::DeviceType::PrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
  timed.record(getCurrentNPUStream().unwrap());
  EXPECT_NE(FakeRuntime::get().event_flags.back() & ACL_EVENT_TIME_LINE, 0U);
}

TEST(NpuEvent, StaysOnItsDevice) {
  NPUEvent event;
  event.record(getDefaultNPUStream(0));
  EXPECT_THROW(event.record(getDefaultNPUStream(1)), c10::Error);
  EXPECT_NO_THROW(event.block(getDefaultNPUStream(1)));
}

TEST(NpuEvent, MeasuresOnlyWhatWasRecordedWithTimingAndWaitsForBoth) {
  NPUEvent start(true);
  NPUEvent end(true);
  NPUEvent untimed;
  EXPECT_THROW(start.elapsed_time(end), c10::ValueError);
  for (auto* event : {&start, &end, &untimed}) event->record();
  EXPECT_THROW(start.elapsed_time(untimed), c10::ValueError);
  EXPECT_FALSE(start.query() || end.query());
  EXPECT_DOUBLE_EQ(start.elapsed_time(end), 2.5);
  EXPECT_TRUE(start.query() && end.query());
}

}  // namespace
}  // namespace torch_npu
