#include "runtime_test.h"

// An extension, which a program looks up by name.
extern "C" void softcannSetWaitHook(int (*hook)());

namespace {

std::atomic<bool> give_up{false};
std::atomic<int> asked{0};

int hook() {
  ++asked;
  return give_up.load() ? 1 : 0;
}

constexpr const char* kText = "interrupted";

}  // namespace

class WaitTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    give_up = true;
    asked = 0;
    softcannSetWaitHook(&hook);
  }
  void TearDown() override {
    softcannSetWaitHook(nullptr);
    StreamTest::TearDown();
  }
};

TEST_F(WaitTest, TheHookEndsEveryKindOfWait) {
  aclrtEvent event = nullptr;
  ASSERT_OK(aclrtCreateEvent(&event));
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(aclrtRecordEvent(event, stream));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, kText);
  EXPECT_FAILS(aclrtSynchronizeEvent(event), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, kText);
  EXPECT_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, kText);
  gate.open();
  give_up = false;
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtDestroyEvent(event));
}

TEST_F(WaitTest, TheHookEndsAWaitForRoom) {
  Gate gate;
  gate.holdUp(stream);
  std::atomic<int> released{0};
  int enqueued = 0;
  while (enqueueTask(stream, [] { return ACL_SUCCESS; }, &released) == ACL_SUCCESS) ++enqueued;
  EXPECT_NE(recentMessage().find("testOperator: the stream is full, and the wait for room was"),
            std::string::npos);
  EXPECT_GT(enqueued, 100);
  EXPECT_EQ(released.load(), 1);
  gate.open();
  give_up = false;
  EXPECT_OK(enqueueTask(stream, [] { return ACL_SUCCESS; }));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(released.load(), enqueued + 1);
}

TEST_F(WaitTest, GoesOnWhileTheHookSaysSo) {
  give_up = false;
  Gate gate;
  gate.holdUp(stream);
  std::thread opener([&] {
    while (asked.load() < 2) std::this_thread::yield();
    gate.open();
  });
  EXPECT_OK(aclrtSynchronizeStream(stream));
  opener.join();
}

TEST_F(WaitTest, ACopyThatIsGivenUpLeavesTheHostsMemoryAlone) {
  constexpr size_t kSize = 100000;
  void* pointer = nullptr;
  ASSERT_OK(aclrtMalloc(&pointer, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(aclrtMemset(pointer, kSize, 7, kSize));
  std::vector<unsigned char> host(kSize, 1);
  Gate gate;
  gate.holdUp(stream);
  for (const aclrtMemcpyKind kind : {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE}) {
    const bool to_host = kind == ACL_MEMCPY_DEVICE_TO_HOST;
    EXPECT_FAILS(aclrtMemcpyAsync(to_host ? host.data() : pointer, kSize,
                                  to_host ? pointer : host.data(), kSize, kind, stream),
                 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, kText);
  }
  gate.open();
  give_up = false;
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(host, std::vector<unsigned char>(kSize, 1));
  ASSERT_OK(
      aclrtMemcpyAsync(host.data(), kSize, pointer, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_EQ(host, std::vector<unsigned char>(kSize, 7));
  EXPECT_OK(aclrtFree(pointer));
}

TEST_F(WaitTest, FailuresAreKeptForTheWaitThatReachesTheEnd) {
  aclrtStream other = nullptr;
  ASSERT_OK(aclrtCreateStream(&other));
  for (aclrtStream failing : {stream, other}) {
    Gate gate;
    gate.holdUp(failing == stream ? other : stream);
    ASSERT_OK(enqueueFailure(failing, "bad"));
    give_up = true;
    EXPECT_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, kText);
    EXPECT_FAILS(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                 "timeout");
    give_up = false;
    gate.open();
    EXPECT_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_INTERNAL_ERROR, "bad");
  }
  EXPECT_OK(aclrtDestroyStream(other));
}

// ---- Limits of operators -------------------------------------------------------------------

TEST_F(WaitTest, AnOperatorOverItsLimitFailsWhenItHasEnded) {
  static constexpr softcann::TaskType kOperator = {"aclnnSlow", TestTask::run, TestTask::release};
  const auto slow = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return ACL_SUCCESS;
  };
  give_up = false;
  ASSERT_OK(aclrtSetOpExecuteTimeOutV2(1000, nullptr));
  ASSERT_OK(enqueueTask(stream, slow));  // no operator
  EXPECT_OK(aclrtSynchronizeStream(stream));
  ASSERT_OK(softcann::enqueue(stream, &kOperator, new TestTask{slow}));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_AICORE_TIMEOUT,
               "longer than the limit of 1000 us");
  ASSERT_OK(aclrtSetOpExecuteTimeOutV2(0, nullptr));
  ASSERT_OK(softcann::enqueue(stream, &kOperator, new TestTask{slow}));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}
