#include "second_process.h"

namespace {

aclrtEvent createShared() {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
  return event;
}

aclrtIpcEventHandle handleOf(aclrtEvent event) {
  aclrtIpcEventHandle handle;
  EXPECT_OK(aclrtIpcGetEventHandle(event, &handle));
  return handle;
}

aclrtEvent openShared(const aclrtIpcEventHandle& handle) {
  aclrtEvent event = nullptr;
  EXPECT_OK(aclrtIpcOpenEventHandle(handle, &event));
  return event;
}

bool isComplete(aclrtEvent event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

// A process that makes an event and sends its handle, then obeys: 'h' holds its stream up, 'e'
// records the event there, 'o' opens the stream, 'd' destroys the event.
SecondProcess recorder() {
  return SecondProcess([](Channel& channel) {
    Gate gate;
    aclrtStream stream = nullptr;
    ASSERT_OK(aclrtCreateStream(&stream));
    aclrtEvent event = createShared();
    channel.send(handleOf(event));
    for (char order = 0; channel.tryReceive(order);) {
      if (order == 'h') gate.holdUp(stream);
      if (order == 'e') EXPECT_OK(aclrtRecordEvent(event, stream));
      if (order == 'o') gate.open();
      if (order == 'd') EXPECT_OK(aclrtDestroyEvent(event));
      channel.send('.');
    }
  });
}

aclrtIpcEventHandle handleFrom(SecondProcess& recorder) {
  return recorder.channel().receive<aclrtIpcEventHandle>();
}

}  // namespace

TEST(IpcEventDeathTest, AStreamWaitsForTheStreamOfAnotherProcess) {
  SecondProcess other = recorder();
  startRuntime();
  aclrtEvent event = openShared(handleFrom(other));
  EXPECT_TRUE(isComplete(event));  // never recorded
  other.order('h');
  other.order('e');
  EXPECT_FALSE(isComplete(event));
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  ASSERT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 30), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
               "timeout");
  EXPECT_FAILS(aclrtSynchronizeEventWithTimeout(event, 30), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
               "timeout");
  other.order('o');
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_TRUE(isComplete(event));
  EXPECT_OK(aclrtDestroyEvent(event));
}

TEST(IpcEventDeathTest, TheOtherSideMayRecordToo) {
  SecondProcess other([](Channel& channel) {
    aclrtEvent event = openShared(channel.receive<aclrtIpcEventHandle>());
    aclrtStream stream = nullptr;
    ASSERT_OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 200; ++i) EXPECT_OK(aclrtRecordEvent(event, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyEvent(event));
    channel.send('.');
    channel.receive<char>();
  });
  startRuntime();
  aclrtEvent event = createShared();
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  other.channel().send(handleOf(event));
  for (int i = 0; i < 200; ++i) EXPECT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(other.channel().receive<char>(), '.');
  EXPECT_TRUE(isComplete(event));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  other.channel().send('.');
}

TEST(IpcEventDeathTest, WaitingEndsWithTheProcessThatRecorded) {
  SecondProcess other = recorder();
  startRuntime();
  aclrtEvent event = openShared(handleFrom(other));
  other.order('h');
  other.order('e');
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  ASSERT_OK(aclrtStreamWaitEvent(stream, event));
  other.kill();
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_IPC_ERROR, "has ended");
  EXPECT_FAILS(aclrtSynchronizeEvent(event), ACL_ERROR_RT_IPC_ERROR, "has ended");
  aclrtEventRecordedStatus status;
  EXPECT_FAILS(aclrtQueryEventStatus(event, &status), ACL_ERROR_RT_IPC_ERROR, "has ended");
  // The event can be recorded again.
  ASSERT_OK(aclrtRecordEvent(event, stream));
  EXPECT_OK(aclrtSynchronizeEvent(event));
}

TEST(IpcEventDeathTest, ADestroyedEventLivesOnWithThoseThatOpenedIt) {
  SecondProcess other = recorder();
  startRuntime();
  const aclrtIpcEventHandle handle = handleFrom(other);
  aclrtEvent event = openShared(handle);
  other.order('h');
  other.order('e');
  other.order('d');
  EXPECT_FALSE(isComplete(event));
  other.order('o');
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtDestroyEvent(event));
  aclrtEvent late = nullptr;
  EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &late), ACL_ERROR_RT_IPC_ERROR, handle.reserved);
  other.kill();
  EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &late), ACL_ERROR_RT_IPC_ERROR, "has ended");
}

TEST(IpcEventDeathTest, OneProcessMayOpenItsOwnHandle) {
  startRuntime();
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  aclrtEvent event = createShared();
  aclrtEvent same = openShared(handleOf(event));
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(aclrtRecordEvent(event, stream));
  EXPECT_FALSE(isComplete(same));
  gate.open();
  EXPECT_OK(aclrtSynchronizeEvent(same));
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_TRUE(isComplete(same));
  EXPECT_OK(aclrtDestroyEvent(same));
}

TEST(IpcEventDeathTest, WhatCannDoesNotOfferIsRefused) {
  startRuntime();
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  aclrtEvent event = nullptr;
  EXPECT_FAILS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_TIME_LINE),
               ACL_ERROR_INVALID_PARAM, "ACL_EVENT_IPC");
  event = createShared();
  EXPECT_FAILS(aclrtResetEvent(event, stream), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtResetEvent");
  uint32_t id = 0;
  EXPECT_FAILS(aclrtGetEventId(event, &id), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtGetEventId");
  uint64_t timestamp = 0;
  EXPECT_FAILS(aclrtEventGetTimestamp(event, &timestamp), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID,
               "keeps no time");
  aclrtEvent ordinary = nullptr;
  ASSERT_OK(aclrtCreateEvent(&ordinary));
  aclrtIpcEventHandle handle = {};
  EXPECT_FAILS(aclrtIpcGetEventHandle(ordinary, &handle), ACL_ERROR_INVALID_PARAM, "ACL_EVENT_IPC");
  EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &event), ACL_ERROR_INVALID_PARAM, "''");
  std::snprintf(handle.reserved, sizeof(handle.reserved), "nonsense");
  EXPECT_FAILS(aclrtIpcOpenEventHandle(handle, &event), ACL_ERROR_INVALID_PARAM, "'nonsense'");
}
