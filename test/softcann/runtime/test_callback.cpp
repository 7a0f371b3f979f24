#include <pthread.h>

#include "runtime_test.h"

using CallbackTest = StreamTest;

namespace {

void append(void* log) { static_cast<std::vector<int>*>(log)->push_back(1); }

}  // namespace

TEST_F(CallbackTest, HostFunctionRunsInStreamOrder) {
  std::vector<int> log;
  ASSERT_OK(enqueueTask(stream, [&] {
    log.push_back(0);
    return ACL_SUCCESS;
  }));
  ASSERT_OK(aclrtLaunchHostFunc(stream, append, &log));
  ASSERT_OK(enqueueTask(stream, [&] {
    log.push_back(2);
    return ACL_SUCCESS;
  }));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(log, (std::vector<int>{0, 1, 2}));
  EXPECT_FAILS(aclrtLaunchHostFunc(stream, nullptr, nullptr), ACL_ERROR_INVALID_PARAM, "null");
}

TEST_F(CallbackTest, BlockingCallbackHoldsTheStreamUntilItHasRun) {
  std::vector<int> log;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> id{0};
  std::thread subscriber([&] {
    id = static_cast<uint64_t>(pthread_self());
    while (!stop) aclrtProcessReport(20);
  });
  while (id == 0) std::this_thread::yield();
  ASSERT_OK(aclrtSubscribeReport(id, stream));
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(aclrtLaunchCallback(append, &log, ACL_CALLBACK_BLOCK, stream));
    ASSERT_OK(enqueueTask(stream, [&] {
      log.push_back(2);
      return ACL_SUCCESS;
    }));
  }
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(log, (std::vector<int>{1, 2, 1, 2, 1, 2}));
  EXPECT_OK(aclrtUnSubscribeReport(id, stream));
  stop = true;
  subscriber.join();
}

TEST_F(CallbackTest, NonBlockingCallbackLetsTheStreamGoOn) {
  std::vector<int> log;
  const auto self = static_cast<uint64_t>(pthread_self());
  ASSERT_OK(aclrtSubscribeReport(self, stream));
  ASSERT_OK(aclrtLaunchCallback(append, &log, ACL_CALLBACK_NO_BLOCK, stream));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  EXPECT_TRUE(log.empty());
  EXPECT_OK(aclrtProcessReport(kPatienceMs));
  EXPECT_EQ(log, (std::vector<int>{1}));
  EXPECT_FAILS(aclrtProcessReport(10), ACL_ERROR_RT_REPORT_TIMEOUT, "timeout");
  EXPECT_OK(aclrtUnSubscribeReport(self, stream));
}

TEST_F(CallbackTest, WithoutASubscriptionItIsAnError) {
  std::vector<int> log;
  EXPECT_FAILS(aclrtLaunchCallback(append, &log, ACL_CALLBACK_BLOCK, stream),
               ACL_ERROR_RT_STREAM_NO_CB_REG, "aclrtSubscribeReport");
  EXPECT_FAILS(aclrtProcessReport(0), ACL_ERROR_RT_THREAD_SUBSCRIBE, "not subscribed");
  const auto self = static_cast<uint64_t>(pthread_self());
  EXPECT_FAILS(aclrtUnSubscribeReport(self, stream), ACL_ERROR_RT_THREAD_SUBSCRIBE,
               "not subscribed");
  ASSERT_OK(aclrtSubscribeReport(self, stream));
  EXPECT_FAILS(aclrtSubscribeReport(self, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE, "already");
  EXPECT_OK(aclrtUnSubscribeReport(self, stream));
}

TEST_F(CallbackTest, ForcedDestructionEndsACallbackThatNobodyProcesses) {
  std::vector<int> log;
  const auto self = static_cast<uint64_t>(pthread_self());
  ASSERT_OK(aclrtSubscribeReport(self, stream));
  ASSERT_OK(aclrtLaunchCallback(append, &log, ACL_CALLBACK_BLOCK, stream));
  EXPECT_OK(aclrtDestroyStreamForce(stream));
  EXPECT_TRUE(log.empty());
  // The next stream does not inherit the subscription, even if it is the same object.
  ASSERT_OK(aclrtCreateStream(&stream));
  EXPECT_FAILS(aclrtLaunchCallback(append, &log, ACL_CALLBACK_BLOCK, stream),
               ACL_ERROR_RT_STREAM_NO_CB_REG, "aclrtSubscribeReport");
}
