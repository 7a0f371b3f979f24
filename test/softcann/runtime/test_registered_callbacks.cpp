#include <mutex>

#include "runtime_test.h"

namespace {

struct Seen {
  std::mutex mutex;
  std::vector<int> states;
  std::vector<aclrtStream> streams;
  void add(int state, aclrtStream stream = nullptr) {
    std::lock_guard lock(mutex);
    states.push_back(state);
    streams.push_back(stream);
  }
};

struct Exception {
  uint32_t task, stream, thread, device, code;
};
std::mutex exceptions_mutex;
std::vector<Exception> exceptions;

void keepException(aclrtExceptionInfo* info) {
  std::lock_guard lock(exceptions_mutex);
  exceptions.push_back(
      {aclrtGetTaskIdFromExceptionInfo(info), aclrtGetStreamIdFromExceptionInfo(info),
       aclrtGetThreadIdFromExceptionInfo(info), aclrtGetDeviceIdFromExceptionInfo(info),
       aclrtGetErrorCodeFromExceptionInfo(info)});
}
std::atomic<int> others{0};
void countException(aclrtExceptionInfo*) { others.fetch_add(1); }

class RegisteredCallbackTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    exceptions.clear();
    others = 0;
  }
  void failOnce() {
    ASSERT_OK(enqueueTask(stream, [] { return ACL_SUCCESS; }));
    ASSERT_OK(enqueueFailure(stream, "broken"));
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_ERROR_INTERNAL_ERROR);
  }
};

}  // namespace

TEST_F(RegisteredCallbackTest, AFailedTaskIsDescribed) {
  ASSERT_OK(aclrtExceptionInfoCallbackRegister(keepException));
  ASSERT_OK(aclrtExceptionInfoCallbackRegister(keepException));  // once
  ASSERT_OK(aclrtSetExceptionInfoCallback(countException));
  failOnce();
  int32_t id = -1;
  ASSERT_OK(aclrtStreamGetId(stream, &id));
  ASSERT_EQ(exceptions.size(), 1u);
  EXPECT_EQ(exceptions[0].task, 1u);
  EXPECT_EQ(exceptions[0].stream, static_cast<uint32_t>(id));
  EXPECT_EQ(exceptions[0].device, 0u);
  EXPECT_EQ(exceptions[0].code, static_cast<uint32_t>(ACL_ERROR_INTERNAL_ERROR));
  EXPECT_NE(exceptions[0].thread, 0u);
  EXPECT_EQ(others, 1);
  ASSERT_OK(aclrtSetExceptionInfoCallback(nullptr));
  ASSERT_OK(aclrtExceptionInfoCallbackUnregister(keepException));
  failOnce();
  EXPECT_EQ(exceptions.size(), 1u);
  EXPECT_EQ(others, 1);
  EXPECT_FAILS(aclrtExceptionInfoCallbackUnregister(keepException), ACL_ERROR_INVALID_PARAM,
               "not registered");
  EXPECT_FAILS(aclrtExceptionInfoCallbackRegister(nullptr), ACL_ERROR_INVALID_PARAM, "null");
  EXPECT_EQ(aclrtGetTaskIdFromExceptionInfo(nullptr), UINT32_MAX);
}

TEST_F(RegisteredCallbackTest, StreamsAreAnnounced) {
  Seen seen;
  const auto keep = [](aclrtStream which, aclrtStreamState state, void* args) {
    static_cast<Seen*>(args)->add(state, which);
  };
  ASSERT_OK(aclrtRegStreamStateCallback("test", keep, &seen));
  aclrtStream made = nullptr;
  ASSERT_OK(aclrtCreateStream(&made));
  ASSERT_OK(aclrtDestroyStream(made));
  ASSERT_OK(aclrtRegStreamStateCallback("test", nullptr, nullptr));
  aclrtStream quiet = nullptr;
  ASSERT_OK(aclrtCreateStream(&quiet));
  ASSERT_OK(aclrtDestroyStream(quiet));
  EXPECT_EQ(seen.states,
            (std::vector<int>{ACL_RT_STREAM_STATE_CREATE_POST, ACL_RT_STREAM_STATE_DESTROY_PRE}));
  EXPECT_EQ(seen.streams, (std::vector<aclrtStream>{made, made}));
  EXPECT_FAILS(aclrtRegStreamStateCallback("test", nullptr, nullptr), ACL_ERROR_INVALID_PARAM,
               "nothing is registered");
  EXPECT_FAILS(aclrtRegStreamStateCallback("", keep, nullptr), ACL_ERROR_INVALID_PARAM, "regName");
  EXPECT_FAILS(aclrtRegStreamStateCallback(nullptr, keep, nullptr), ACL_ERROR_INVALID_PARAM,
               "regName");
}

TEST_F(RegisteredCallbackTest, OpeningAndClosingADeviceIsAnnounced) {
  Seen seen;
  const auto keep = [](int32_t device, aclrtDeviceState state, void* args) {
    if (device == 3) static_cast<Seen*>(args)->add(state);
  };
  ASSERT_OK(aclrtRegDeviceStateCallback("test", keep, &seen));
  ASSERT_OK(aclrtSetDevice(3));
  ASSERT_OK(aclrtSetDevice(3));
  ASSERT_OK(aclrtResetDevice(3));
  EXPECT_EQ(seen.states,
            (std::vector<int>{ACL_RT_DEVICE_STATE_SET_PRE, ACL_RT_DEVICE_STATE_SET_POST}));
  ASSERT_OK(aclrtResetDevice(3));
  EXPECT_EQ(seen.states,
            (std::vector<int>{ACL_RT_DEVICE_STATE_SET_PRE, ACL_RT_DEVICE_STATE_SET_POST,
                              ACL_RT_DEVICE_STATE_RESET_PRE, ACL_RT_DEVICE_STATE_RESET_POST}));
  ASSERT_OK(aclrtRegDeviceStateCallback("test", nullptr, nullptr));
  ASSERT_OK(aclrtSetDevice(0));
}

TEST_F(RegisteredCallbackTest, AnErrorBeforeAbortingTasksKeepsThem) {
  int code = 42;
  const auto answer = [](int32_t, aclrtDeviceTaskAbortStage, uint32_t timeout, void* args) {
    EXPECT_EQ(timeout, 7u);
    return *static_cast<int*>(args);
  };
  ASSERT_OK(aclrtSetDeviceTaskAbortCallback("test", answer, &code));
  EXPECT_FAILS(aclrtSetDeviceTaskAbortCallback("test", answer, &code), ACL_ERROR_INVALID_PARAM,
               "already");
  Gate gate;
  gate.holdUp(stream);
  std::atomic<bool> ran{false};
  ASSERT_OK(enqueueTask(stream, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  EXPECT_FAILS(aclrtDeviceTaskAbort(0, 7), 42, "'test' failed with 42");
  gate.open();
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_TRUE(ran);
  code = 0;
  EXPECT_OK(aclrtDeviceTaskAbort(0, 7));
  ASSERT_OK(aclrtSetDeviceTaskAbortCallback("test", nullptr, nullptr));
}

TEST_F(RegisteredCallbackTest, AFunctionThatComesAfterInitialisationRunsAtOnce) {
  int calls = 0;
  const auto count = [](const char* config, size_t size, void* data) -> aclError {
    EXPECT_EQ(config, nullptr);
    EXPECT_EQ(size, 0u);
    return ++*static_cast<int*>(data) < 2 ? ACL_SUCCESS : ACL_ERROR_FAILURE;
  };
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, count, &calls));
  EXPECT_EQ(calls, 1);
  EXPECT_FAILS(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, count, &calls), ACL_ERROR_INVALID_PARAM,
               "already");
  EXPECT_FAILS(aclInitCallbackRegister(ACL_REG_TYPE_ACL_DVPP, count, &calls), ACL_ERROR_FAILURE,
               "aclInitCallbackRegister");
  EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, count));
  EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, count));
  EXPECT_FAILS(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, count), ACL_ERROR_INVALID_PARAM,
               "not registered");
  EXPECT_FAILS(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, nullptr, nullptr),
               ACL_ERROR_INVALID_PARAM, "null");
}

TEST(RegisteredCallbackDeathTest, FunctionsRunInOrderAtInitialisationAndBackwardsAtTheEnd) {
  const auto program = [] {
    static std::string order;
    const auto begin = [](const char*, size_t, void* data) -> aclError {
      order += static_cast<const char*>(data);
      return ACL_SUCCESS;
    };
    const auto end = [](void* data) -> aclError {
      order += static_cast<const char*>(data);
      return ACL_SUCCESS;
    };
    const auto end_too = [](void* data) -> aclError {
      order += static_cast<const char*>(data);
      return ACL_ERROR_FAILURE;
    };
    char a[] = "a", b[] = "b", c[] = "c";
    aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begin, a);
    aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, end, b);
    aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, end_too, c);
    if (aclInit(nullptr) != ACL_SUCCESS) std::exit(1);
    const aclError code = aclFinalize();
    std::exit(order == "acb" && code == ACL_ERROR_FAILURE ? 7 : 2);
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(7), "");
}
