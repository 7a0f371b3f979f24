#include <c10/core/DeviceGuard.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <thread>

#include "fake_runtime.h"
#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_hooks.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {
namespace {

using testing::FakeRuntime;

void inNewThread(const std::function<void()>& body) {
  std::thread thread(body);
  thread.join();
}

// Exit code of a forked child that runs `body`; 77 if it threw an error with `message` in it.
int inForkedChild(const std::function<void()>& body, const std::string& message) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const c10::Error& error) {
      _exit(std::string(error.what()).find(message) != std::string::npos ? 77 : 1);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(NpuFunctions, CountingAndAskingInitialiseNothing) {
  // The first test of the program: nothing has used a device yet.
  EXPECT_EQ(deviceCount(), 4);
  EXPECT_TRUE(NPUHooks().isAvailable());
  EXPECT_FALSE(NPUHooks().isPinnedPtr(&kMaxDevices));
  EXPECT_FALSE(hasContext(0));
  EXPECT_FALSE(isInitialized());
  EXPECT_EQ(FakeRuntime::get().inits, 0);
}

TEST(NpuFunctions, AChildOfAParentWithoutADeviceMayStartOne) {
  ASSERT_FALSE(isInitialized());
  EXPECT_EQ(inForkedChild([] { setDevice(0); }, ""), 0);
}

TEST(NpuFunctions, TheRuntimeIsInitialisedOnceForAllThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([] { lazyInit(); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(FakeRuntime::get().inits, 1);
  EXPECT_TRUE(isInitialized());
  EXPECT_FALSE(hasContext(0)) << "initialising must not touch a device";
}

TEST(NpuFunctions, TheContextIsSetOnlyWhenTheDeviceChanges) {
  inNewThread([] {
    FakeRuntime::get().set_devices.clear();
    setDevice(1);
    setDevice(1);
    EXPECT_EQ(exchangeDevice(2), 1);
    ensureContext();
    EXPECT_EQ(currentDevice(), 2);
    EXPECT_EQ(FakeRuntime::get().set_devices, (std::vector<int>{1, 2}));
  });
}

TEST(NpuFunctions, AGuardRestoresAnUnusedDeviceWithoutAContext) {
  inNewThread([] {
    FakeRuntime::get().set_devices.clear();
    {
      const c10::DeviceGuard guard(c10::Device(c10::DeviceType::PrivateUse1, 2));
      EXPECT_EQ(currentDevice(), 2);
    }
    EXPECT_EQ(currentDevice(), 0);
    EXPECT_FALSE(hasContext(0));
    EXPECT_EQ(FakeRuntime::get().set_devices, std::vector<int>{2});
    // The next use brings the context to the device that is current.
    ensureContext();
    EXPECT_EQ(FakeRuntime::get().context, 0);
  });
}

TEST(NpuFunctions, AGuardRestoresAUsedDeviceWithItsContext) {
  inNewThread([] {
    setDevice(1);
    {
      const NPUGuard guard(static_cast<DeviceIndex>(2));
    }
    EXPECT_EQ(currentDevice(), 1);
    EXPECT_EQ(FakeRuntime::get().context, 1);
  });
}

TEST(NpuFunctions, EnsuringAContextLeavesTheCurrentDeviceAlone) {
  inNewThread([] {
    setDevice(1);
    ensureContext(2);
    EXPECT_EQ(FakeRuntime::get().context, 2);
    EXPECT_EQ(currentDevice(), 1);
    setDevice(1);
    EXPECT_EQ(FakeRuntime::get().context, 1);
  });
}

TEST(NpuFunctions, ADeviceThatDoesNotExistIsRefusedAndChangesNothing) {
  inNewThread([] {
    setDevice(1);
    for (const DeviceIndex index : {4, 63, 64, 127, -1, -128}) {
      EXPECT_THROW(setDevice(index), c10::Error) << static_cast<int>(index);
    }
    EXPECT_EQ(currentDevice(), 1);
    EXPECT_THROW(maybeSetDevice(4), c10::Error);
    EXPECT_THROW(
        NPUStream(c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::PrivateUse1, 100)))
            .stream(),
        c10::Error);
  });
}

TEST(NpuFunctions, ANegativeDeviceIsRefusedInAThreadWithoutAContextToo) {
  inNewThread([] {
    EXPECT_THROW(setDevice(-1), c10::Error);
    EXPECT_THROW(exchangeDevice(-1), c10::Error);
    EXPECT_EQ(currentDevice(), 0);
  });
}

TEST(NpuFunctions, AChildOfAParentWithADeviceIsRefused) {
  setDevice(0);
  const std::string message = "Cannot re-initialize NPU in forked subprocess";
  EXPECT_EQ(inForkedChild([] { lazyInit(); }, message), 77);
  EXPECT_EQ(inForkedChild([] { setDevice(0); }, message), 77);
  EXPECT_EQ(inForkedChild([] { getCurrentNPUStream().stream(); }, message), 77);
  EXPECT_EQ(inForkedChild([] { _exit(isInBadFork() ? 5 : 6); }, ""), 5);
  EXPECT_FALSE(isInBadFork());
}

TEST(NpuFunctions, AGrandchildIsRefusedToo) {
  setDevice(0);
  const std::string message = "Cannot re-initialize NPU";
  const auto grandchild = [&message] { _exit(inForkedChild([] { setDevice(0); }, message)); };
  EXPECT_EQ(inForkedChild(grandchild, message), 77);
}

}  // namespace
}  // namespace torch_npu
