// What the runtime's tests share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "runtime/core/stream.h"
#include "runtime/core/task.h"

// For a wait that must end before its limit: long enough for a machine that is busy otherwise.
inline constexpr int32_t kPatienceMs = 100'000;

inline std::string recentMessage() {
  const char* text = aclGetRecentErrMsg();
  return text == nullptr ? "" : text;
}

#define EXPECT_OK(call)                                                                   \
  do {                                                                                    \
    const aclError ok_code = (call);                                                      \
    EXPECT_EQ(ok_code, ACL_SUCCESS) << #call << ": " << (ok_code ? recentMessage() : ""); \
  } while (false)
#define ASSERT_OK(call)                                                                   \
  do {                                                                                    \
    const aclError ok_code = (call);                                                      \
    ASSERT_EQ(ok_code, ACL_SUCCESS) << #call << ": " << (ok_code ? recentMessage() : ""); \
  } while (false)
// The call fails with this code and a message that contains the text.
#define EXPECT_FAILS(call, code, text)                                                 \
  do {                                                                                 \
    EXPECT_EQ((call), (code)) << #call;                                                \
    const std::string fails_message = recentMessage();                                 \
    EXPECT_NE(fails_message.find(text), std::string::npos)                             \
        << #call << " says \"" << fails_message << "\", without \"" << (text) << "\""; \
  } while (false)

// Initialised once for the process, with device 0 current.
class RuntimeTest : public testing::Test {
 protected:
  void SetUp() override {
    static const aclError initialised = aclInit(nullptr);
    ASSERT_EQ(initialised, ACL_SUCCESS) << recentMessage();
    ASSERT_OK(aclrtSetDevice(0));
    aclGetRecentErrMsg();
  }
};

// With a stream of its own.
class StreamTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_OK(aclrtCreateStream(&stream));
  }
  void TearDown() override {
    if (stream != nullptr) aclrtDestroyStreamForce(stream);
  }

  aclrtStream stream = nullptr;
};

// A task made of a function.
struct TestTask {
  std::function<aclError()> body;
  std::atomic<int>* released = nullptr;

  static aclError run(void* payload) noexcept { return static_cast<TestTask*>(payload)->body(); }
  static void release(void* payload) noexcept {
    auto* task = static_cast<TestTask*>(payload);
    if (task->released != nullptr) task->released->fetch_add(1);
    delete task;
  }
};
inline constexpr softcann::TaskType kTestTask = {"testOperator", TestTask::run, TestTask::release};

inline aclError enqueueTask(aclrtStream stream, std::function<aclError()> body,
                            std::atomic<int>* released = nullptr) {
  return softcann::enqueue(stream, &kTestTask, new TestTask{std::move(body), released});
}

// Holds streams up until it is opened or destroyed. They may look at it later than that, so what
// they look at is theirs too.
class Gate {
 public:
  ~Gate() { open(); }
  void holdUp(aclrtStream stream) {
    ASSERT_OK(enqueueTask(stream, [state = state_] {
      state->reached.store(true);
      while (!state->open.load()) std::this_thread::yield();
      return ACL_SUCCESS;
    }));
  }
  void open() { state_->open.store(true); }
  bool isReached() const { return state_->reached.load(); }
  void awaitReached() const {
    while (!isReached()) std::this_thread::yield();
  }

 private:
  struct State {
    std::atomic<bool> open{false};
    std::atomic<bool> reached{false};
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Holds the stream up until its tasks are aborted, and no longer.
inline void holdUpUntilAborted(aclrtStream stream) {
  std::atomic<bool> reached{false};
  ASSERT_OK(enqueueTask(stream, [stream, &reached] {
    reached.store(true);
    while (!softcann::Stream::fromHandle(stream)->isAborting()) std::this_thread::yield();
    return ACL_SUCCESS;
  }));
  while (!reached.load()) std::this_thread::yield();
}

inline aclError enqueueFailure(aclrtStream stream, const std::string& text) {
  return enqueueTask(stream, [text] {
    softcann::setTaskError(text);
    return ACL_ERROR_INTERNAL_ERROR;
  });
}
