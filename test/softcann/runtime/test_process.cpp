#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "runtime_test.h"

namespace {

// A stream with work in it, in a fresh process.
aclrtStream startWorking() {
  aclrtStream stream = nullptr;
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS ||
      aclrtCreateStream(&stream) != ACL_SUCCESS) {
    std::_Exit(90);
  }
  for (int i = 0; i < 100; ++i) {
    enqueueTask(stream, [] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return ACL_SUCCESS;
    });
  }
  return stream;
}

}  // namespace

TEST(ProcessDeathTest, CallsBeforeInitialisationAreRefused) {
  EXPECT_EXIT(
      {
        void* pointer = nullptr;
        const aclError code = aclrtMalloc(&pointer, 1, ACL_MEM_MALLOC_HUGE_FIRST);
        std::fprintf(stderr, "%s\n", recentMessage().c_str());
        std::_Exit(code == ACL_ERROR_UNINITIALIZE ? 0 : 1);
      },
      testing::ExitedWithCode(0), "aclInit");
}

TEST(ProcessDeathTest, QueriesWorkBeforeInitialisation) {
  EXPECT_EXIT(
      {
        uint32_t count = 0;
        int32_t device = 0;
        const bool right = aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 8 &&
                           aclrtGetDevice(&device) == ACL_ERROR_RT_CONTEXT_NULL &&
                           std::string(aclrtGetSocName()) == "Ascend910B2";
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessDeathTest, InitialisesOnceAndAgainAfterFinalisation) {
  EXPECT_EXIT(
      {
        bool right = aclInit(nullptr) == ACL_SUCCESS &&
                     aclInit(nullptr) == ACL_ERROR_REPEAT_INITIALIZE &&
                     aclrtSetDevice(0) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS &&
                     aclFinalize() == ACL_ERROR_REPEAT_FINALIZE &&
                     aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE && aclInit(nullptr) == ACL_SUCCESS;
        void* pointer = nullptr;
        right = right && aclrtSynchronizeDevice() == ACL_ERROR_RT_CONTEXT_NULL &&
                aclrtSetDevice(0) == ACL_SUCCESS &&
                aclrtMalloc(&pointer, 1000, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS &&
                aclrtMemset(pointer, 1000, 1, 1000) == ACL_SUCCESS;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessDeathTest, FinalisationFinishesWorkAndLaterFreesAreIgnored) {
  EXPECT_EXIT(
      {
        aclrtStream stream = startWorking();
        void* pointer = nullptr;
        void* host = nullptr;
        aclrtEvent event = nullptr;
        aclrtMalloc(&pointer, 1000, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtMallocHost(&host, 1000);
        aclrtCreateEvent(&event);
        std::atomic<bool> last{false};
        enqueueTask(stream, [&] {
          last = true;
          return ACL_SUCCESS;
        });
        const bool right =
            aclFinalize() == ACL_SUCCESS && last && aclrtFree(pointer) == ACL_SUCCESS &&
            aclrtFreeHost(host) == ACL_SUCCESS && aclrtDestroyEvent(event) == ACL_SUCCESS &&
            aclrtDestroyStream(stream) == ACL_SUCCESS;
        std::exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessDeathTest, ExitWithoutFinalisationEndsCleanly) {
  EXPECT_EXIT(
      {
        startWorking();
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST(ProcessDeathTest, ExitDoesNotHangOnATaskThatNeverEnds) {
  EXPECT_EXIT(
      {
        enqueueTask(startWorking(), [] {
          for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
          return ACL_SUCCESS;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::exit(8);
      },
      testing::ExitedWithCode(8), "");
}

TEST(ProcessDeathTest, ATaskMayEndTheProcess) {
  EXPECT_EXIT(
      {
        enqueueTask(startWorking(), []() -> aclError { std::exit(9); });
        for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
      },
      testing::ExitedWithCode(9), "");
}

TEST(ProcessDeathTest, ConfigFilesAreChecked) {
  EXPECT_EXIT(
      {
        char path[] = "/tmp/softcann-test-XXXXXX";
        const int fd = mkstemp(path);
        if (write(fd, "[1]", 3) != 3) std::_Exit(2);
        const bool right = aclInit("/nonexistent/acl.json") == ACL_ERROR_INVALID_FILE &&
                           aclInit(path) == ACL_ERROR_PARSE_FILE;
        if (pwrite(fd, "{ }", 3, 0) != 3) std::_Exit(2);
        const bool accepted = aclInit(path) == ACL_SUCCESS;
        unlink(path);
        std::_Exit(right && accepted ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessDeathTest, AConfigFileNamesTheDeviceOfThreadsThatSetNone) {
  EXPECT_EXIT(
      {
        const auto initialize = [](const std::string& text) {
          char path[] = "/tmp/softcann-test-XXXXXX";
          const int fd = mkstemp(path);
          if (write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            std::_Exit(2);
          }
          const aclError code = aclInit(path);
          unlink(path);
          return code;
        };
        const std::string before = R"({"dump": {}, "defaultDevice": {"default_device": ")";
        bool right = initialize(before + "99\"}}") == ACL_ERROR_INVALID_PARAM &&
                     initialize(before + "one\"}}") == ACL_ERROR_INVALID_PARAM &&
                     initialize(before + "1\"}}") == ACL_SUCCESS;
        int32_t device = -1;
        aclrtStream stream = nullptr;
        right = right && aclrtGetDevice(&device) == ACL_SUCCESS && device == 1 &&
                aclrtCreateStream(&stream) == ACL_SUCCESS &&
                aclrtSynchronizeStream(stream) == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS &&
                aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS &&
                aclrtGetDevice(&device) == ACL_SUCCESS && device == 0;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

// ---- Fork ----------------------------------------------------------------------------------

TEST(ProcessDeathTest, AForkedChildIsRefusedAndTheParentGoesOn) {
  EXPECT_EXIT(
      {
        aclrtStream stream = startWorking();
        void* pointer = nullptr;
        aclrtMalloc(&pointer, 32 << 20, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtMemset(pointer, 32 << 20, 5, 32 << 20);
        const pid_t child = fork();
        if (child == 0) {
          alarm(100);
          void* other = nullptr;
          const bool right =
              aclrtMalloc(&other, 1, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_UNINITIALIZE &&
              recentMessage().find("fork") != std::string::npos &&
              aclrtFree(pointer) == ACL_ERROR_UNINITIALIZE &&
              aclrtSynchronizeStream(stream) == ACL_ERROR_UNINITIALIZE &&
              aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE &&
              aclInit(nullptr) == ACL_ERROR_UNINITIALIZE && aclFinalize() != ACL_SUCCESS;
          std::exit(right ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        char byte = 0;
        const bool right =
            WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
            aclrtMemcpy(&byte, 1, pointer, 1, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS &&
            byte == 5 && aclrtSynchronizeStream(stream) == ACL_SUCCESS;
        std::exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(ProcessDeathTest, AChildForkedBeforeInitialisationMayInitialise) {
  EXPECT_EXIT(
      {
        const pid_t child = fork();
        if (child == 0) {
          alarm(100);
          aclrtStream stream = startWorking();
          std::exit(aclrtSynchronizeStream(stream) == ACL_SUCCESS ? 0 : 1);
        }
        int status = -1;
        waitpid(child, &status, 0);
        std::_Exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
      },
      testing::ExitedWithCode(0), "");
}
