#include <cstring>

#include "runtime_test.h"

class EventTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    ASSERT_OK(aclrtCreateStream(&other));
    ASSERT_OK(aclrtCreateEvent(&event));
  }
  void TearDown() override {
    aclrtDestroyStreamForce(other);
    aclrtDestroyEvent(event);
    StreamTest::TearDown();
  }
  aclrtEventRecordedStatus status() {
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    EXPECT_OK(aclrtQueryEventStatus(event, &status));
    return status;
  }

  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
};

TEST_F(EventTest, NeverRecordedIsComplete) {
  EXPECT_EQ(status(), ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(EventTest, FollowsItsStream) {
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(aclrtRecordEvent(event, stream));
  EXPECT_EQ(status(), ACL_EVENT_RECORDED_STATUS_NOT_READY);
  aclrtEventStatus old_status = ACL_EVENT_STATUS_RESERVED;
  EXPECT_OK(aclrtQueryEvent(event, &old_status));
  EXPECT_EQ(old_status, ACL_EVENT_STATUS_NOT_READY);
  EXPECT_FAILS(aclrtSynchronizeEventWithTimeout(event, 10), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
               "timeout");
  gate.open();
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_EQ(status(), ACL_EVENT_RECORDED_STATUS_COMPLETE);
}

TEST_F(EventTest, WhoWaitedForTheLastTaskFindsTheStreamIdle) {
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(aclrtRecordEvent(event, stream));
    ASSERT_OK(aclrtSynchronizeEvent(event));
    aclrtStreamStatus stream_status = ACL_STREAM_STATUS_RESERVED;
    ASSERT_OK(aclrtStreamQuery(stream, &stream_status));
    ASSERT_EQ(stream_status, ACL_STREAM_STATUS_COMPLETE) << "at round " << i;
  }
}

TEST_F(EventTest, WhoWaitedForTheStreamFindsTheEventComplete) {
  for (int i = 0; i < 500; ++i) {
    ASSERT_OK(aclrtRecordEvent(event, stream));
    ASSERT_OK(aclrtSynchronizeStream(stream));
    ASSERT_EQ(status(), ACL_EVENT_RECORDED_STATUS_COMPLETE) << "at round " << i;
  }
}

TEST_F(EventTest, MakesAnotherStreamWait) {
  Gate gate;
  gate.holdUp(stream);
  std::atomic<int> value{0};
  int seen = -1;
  ASSERT_OK(enqueueTask(stream, [&] {
    value = 42;
    return ACL_SUCCESS;
  }));
  ASSERT_OK(aclrtRecordEvent(event, stream));
  ASSERT_OK(aclrtStreamWaitEvent(other, event));
  ASSERT_OK(enqueueTask(other, [&] {
    seen = value;
    return ACL_SUCCESS;
  }));
  aclrtEventWaitStatus wait_status = ACL_EVENT_WAIT_STATUS_RESERVED;
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &wait_status));
  EXPECT_EQ(wait_status, ACL_EVENT_WAIT_STATUS_NOT_READY);
  gate.open();
  EXPECT_OK(aclrtSynchronizeStream(other));
  EXPECT_EQ(seen, 42);
  EXPECT_OK(aclrtQueryEventWaitStatus(event, &wait_status));
  EXPECT_EQ(wait_status, ACL_EVENT_WAIT_STATUS_COMPLETE);
}

TEST_F(EventTest, AWaitKeepsTheRecordingOfItsTime) {
  ASSERT_OK(aclrtRecordEvent(event, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  ASSERT_OK(aclrtStreamWaitEvent(other, event));
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(other, kPatienceMs));
  gate.open();
}

TEST_F(EventTest, WaitTimeoutIsAFailureOfTheWaitingStream) {
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(aclrtRecordEvent(event, stream));
  ASSERT_OK(aclrtStreamWaitEventWithTimeout(other, event, 20));
  EXPECT_FAILS(aclrtSynchronizeStream(other), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
               "aclrtStreamWaitEvent");
  gate.open();
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(EventTest, ElapsedTimeIsInMilliseconds) {
  aclrtEvent end = nullptr;
  ASSERT_OK(aclrtCreateEventExWithFlag(&end, ACL_EVENT_TIME_LINE));
  const softcann::Clock::time_point before = softcann::Clock::now();
  ASSERT_OK(aclrtRecordEvent(event, stream));
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(enqueueTask(stream, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return ACL_SUCCESS;
  }));
  ASSERT_OK(aclrtRecordEvent(end, stream));
  float ms = 0;
  EXPECT_FAILS(aclrtEventElapsedTime(&ms, event, end), ACL_ERROR_RT_EVENT_NOT_COMPLETE,
               "not complete");
  gate.open();
  ASSERT_OK(aclrtSynchronizeEvent(end));
  const std::chrono::duration<float, std::milli> wall = softcann::Clock::now() - before;
  ASSERT_OK(aclrtEventElapsedTime(&ms, event, end));
  EXPECT_GE(ms, 50.0f);
  EXPECT_LE(ms, wall.count() * 1.0001f);
  ASSERT_OK(aclrtEventElapsedTime(&ms, end, event));
  EXPECT_LE(ms, -50.0f);
  uint64_t from = 0;
  uint64_t to = 0;
  EXPECT_OK(aclrtEventGetTimestamp(event, &from));
  EXPECT_OK(aclrtEventGetTimestamp(end, &to));
  EXPECT_GE(to - from, 50000u);
  EXPECT_OK(aclrtDestroyEvent(end));
}

TEST_F(EventTest, WithoutTimingThereIsNoElapsedTime) {
  aclrtEvent plain = nullptr;
  ASSERT_OK(aclrtCreateEventWithFlag(&plain, ACL_EVENT_SYNC));
  ASSERT_OK(aclrtRecordEvent(plain, stream));
  ASSERT_OK(aclrtSynchronizeEvent(plain));
  float ms = 0;
  EXPECT_FAILS(aclrtEventElapsedTime(&ms, plain, plain), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
               "ACL_EVENT_TIME_LINE");
  EXPECT_FAILS(aclrtEventElapsedTime(&ms, event, event), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
               "not been recorded");
  EXPECT_OK(aclrtDestroyEvent(plain));
}

TEST_F(EventTest, TwoRecordingsNeverHaveTheSameTime) {
  std::vector<aclrtEvent> events(1000);
  for (size_t i = 0; i < events.size(); ++i) {
    ASSERT_OK(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_TIME_LINE));
    ASSERT_OK(aclrtRecordEvent(events[i], stream));
  }
  ASSERT_OK(aclrtSynchronizeStream(stream));
  for (size_t i = 1; i < events.size(); ++i) {
    float ms = 0;
    ASSERT_OK(aclrtEventElapsedTime(&ms, events[i - 1], events[i]));
    EXPECT_GT(ms, 0.0f) << i;
    uint64_t before = 0;
    uint64_t after = 0;
    ASSERT_OK(aclrtEventGetTimestamp(events[i - 1], &before));
    ASSERT_OK(aclrtEventGetTimestamp(events[i], &after));
    EXPECT_GT(after, before) << i;
  }
  for (aclrtEvent each : events) EXPECT_OK(aclrtDestroyEvent(each));
}

TEST_F(EventTest, ResetForgetsTheTime) {
  ASSERT_OK(aclrtRecordEvent(event, stream));
  ASSERT_OK(aclrtResetEvent(event, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  uint64_t timestamp = 0;
  EXPECT_FAILS(aclrtEventGetTimestamp(event, &timestamp), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
               "reset");
}

TEST_F(EventTest, MayBeDestroyedWhileItsTasksArePending) {
  Gate gate;
  gate.holdUp(stream);
  for (int i = 0; i < 100; ++i) {
    aclrtEvent brief = nullptr;
    ASSERT_OK(aclrtCreateEvent(&brief));
    ASSERT_OK(aclrtRecordEvent(brief, stream));
    ASSERT_OK(aclrtStreamWaitEvent(other, brief));
    ASSERT_OK(aclrtDestroyEvent(brief));
    EXPECT_FAILS(aclrtRecordEvent(brief, stream), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  }
  gate.open();
  EXPECT_OK(aclrtSynchronizeStream(other));
}

TEST_F(EventTest, AnExternalOneIsWaitedForBeforeItIsRecordedAndUntilItIsReset) {
  aclrtEvent external = nullptr;
  ASSERT_OK(aclrtCreateEventWithFlag(&external, ACL_EVENT_EXTERNAL));
  std::atomic<int> passed{0};
  for (int round = 1; round <= 3; ++round) {
    ASSERT_OK(aclrtStreamWaitEvent(stream, external));
    ASSERT_OK(enqueueTask(stream, [&] {
      ++passed;
      return ACL_SUCCESS;
    }));
    EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                 "timeout");
    EXPECT_FAILS(aclrtSynchronizeEventWithTimeout(external, 10), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                 "timeout");
    EXPECT_EQ(passed.load(), round - 1);
    ASSERT_OK(aclrtStreamWaitEvent(stream, external));  // set then, and still
    ASSERT_OK(aclrtResetEvent(external, stream));
    ASSERT_OK(aclrtRecordEvent(external, other));
    EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
    EXPECT_EQ(passed.load(), round);
  }
  ASSERT_OK(aclrtRecordEvent(external, other));
  EXPECT_OK(aclrtSynchronizeEvent(external));
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_OK(aclrtQueryEventStatus(external, &recorded));
  EXPECT_EQ(recorded, ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT_OK(aclrtDestroyEvent(external));
}

TEST_F(EventTest, AbortEndsAWaitForAnExternalOne) {
  aclrtEvent external = nullptr;
  ASSERT_OK(aclrtCreateEventWithFlag(&external, ACL_EVENT_EXTERNAL));
  ASSERT_OK(aclrtStreamWaitEvent(stream, external));
  ASSERT_OK(aclrtDestroyEvent(external));
  EXPECT_OK(aclrtStreamAbort(stream));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_FAILS(aclrtCreateEventWithFlag(&external, ACL_EVENT_EXTERNAL | ACL_EVENT_SYNC),
               ACL_ERROR_INVALID_PARAM, "ACL_EVENT_EXTERNAL");
}

TEST_F(EventTest, ValueWaitFollowsValueWrite) {
  void* flag = nullptr;
  ASSERT_OK(aclrtMalloc(&flag, 8, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(aclrtMemset(flag, 8, 0, 8));
  bool passed = false;
  ASSERT_OK(aclrtValueWait(flag, 7, ACL_STREAM_WAIT_VALUE_GEQ, other));
  ASSERT_OK(enqueueTask(other, [&] {
    passed = true;
    return ACL_SUCCESS;
  }));
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(other, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
               "timeout");
  EXPECT_FALSE(passed);
  ASSERT_OK(aclrtValueWrite(flag, 9, 0, stream));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(other, kPatienceMs));
  EXPECT_TRUE(passed);
  uint64_t value = 0;
  ASSERT_OK(aclrtMemcpy(&value, 8, flag, 8, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(value, 9u);
  EXPECT_FAILS(aclrtValueWait(flag, 1, 9, other), ACL_ERROR_INVALID_PARAM, "condition");
  EXPECT_FAILS(aclrtValueWrite(&value, 1, 0, stream), ACL_ERROR_INVALID_PARAM, "not device memory");
  EXPECT_OK(aclrtFree(flag));
}

TEST_F(EventTest, FlagsOfTasksAreThoseOfNoGraph) {
  aclrtEvent event = nullptr;
  ASSERT_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  EXPECT_OK(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_DEFAULT));
  EXPECT_OK(aclrtStreamWaitEventWithFlag(stream, event, 0, ACL_EVENT_WAIT_DEFAULT));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_FAILS(aclrtRecordEventWithFlag(event, stream, ACL_EVENT_RECORD_EXTERNAL),
               ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "graphs");
  EXPECT_FAILS(aclrtStreamWaitEventWithFlag(stream, event, 0, 2), ACL_ERROR_INVALID_PARAM,
               "flag 2");
  EXPECT_FAILS(aclrtStreamWaitEventWithFlag(stream, event, UINT32_MAX, 0), ACL_ERROR_INVALID_PARAM,
               "timeout");
  EXPECT_OK(aclrtDestroyEvent(event));
}
