#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "runtime/core/process_registry.h"
#include "runtime_test.h"

namespace {

// A directory of its own for the registry, removed at the end.
class RegistryFolder {
 public:
  RegistryFolder() {
    char pattern[] = "/tmp/softcann-test-XXXXXX";
    path_ = mkdtemp(pattern);
    setenv("SOFTCANN_RUNTIME_DIR", path_.c_str(), 1);
  }
  ~RegistryFolder() {
    unsetenv("SOFTCANN_RUNTIME_DIR");
    std::filesystem::remove_all(path_);
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator(path_)) count += file.exists();
    return count;
  }

 private:
  std::string path_;
};

// A process that holds device memory until it is killed. Death tests run first, so that the
// runtime has not been used when this forks.
pid_t startHolder(int device, size_t bytes) {
  int ready[2];
  if (pipe(ready) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    void* pointer = nullptr;
    const bool right = aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(device) == ACL_SUCCESS &&
                       aclrtMallocAlign32(&pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0 &&
                       aclrtMemset(pointer, bytes, 1, bytes) == ACL_SUCCESS;
    if (write(ready[1], right ? "1" : "0", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  char answer = '0';
  const bool right = read(ready[0], &answer, 1) == 1 && answer == '1';
  close(ready[0]);
  return right ? child : -1;
}

void stopHolder(pid_t holder) {
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
}

std::string outputOf(const std::string& command) {
  std::string output;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::array<char, 256> buffer;
  while (fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) output += buffer.data();
  return output;
}

}  // namespace

TEST(ProcessRegistryDeathTest, ShowsOtherProcessesAndForgetsKilledOnes) {
  RegistryFolder folder;
  const pid_t first = startHolder(2, size_t{24} << 20);
  const pid_t second = startHolder(0, size_t{8} << 20);
  ASSERT_GT(first, 0);
  ASSERT_GT(second, 0);
  std::vector<softcann::DeviceUse> uses = softcann::listDeviceUse();
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].physical_device, 0);
  EXPECT_EQ(uses[0].pid, second);
  EXPECT_EQ(uses[0].bytes, size_t{8} << 20);
  EXPECT_EQ(uses[1].physical_device, 2);
  EXPECT_EQ(uses[1].pid, first);
  EXPECT_EQ(uses[1].bytes, size_t{24} << 20);
  EXPECT_EQ(folder.files(), 2u);

  stopHolder(first);
  uses = softcann::listDeviceUse();
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].pid, second);
  EXPECT_EQ(folder.files(), 1u);
  stopHolder(second);
  EXPECT_TRUE(softcann::listDeviceUse().empty());
  EXPECT_EQ(folder.files(), 0u);
}

TEST(ProcessRegistryDeathTest, KilledProcessLeavesNothingInSharedMemory) {
  RegistryFolder folder;
  const auto sharedFiles = [] {
    size_t count = 0;
    if (!std::filesystem::exists("/dev/shm")) return count;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      count += file.path().filename().string().find("softcann") != std::string::npos;
    }
    return count;
  };
  const size_t before = sharedFiles();
  const pid_t holder = startHolder(0, size_t{32} << 20);
  ASSERT_GT(holder, 0);
  stopHolder(holder);
  EXPECT_EQ(sharedFiles(), before);
}

TEST(ProcessRegistryDeathTest, NpuSmiShowsDevicesAndProcesses) {
  RegistryFolder folder;
  const pid_t holder = startHolder(3, size_t{48} << 20);
  ASSERT_GT(holder, 0);
  const std::string table = outputOf(NPU_SMI " info");
  EXPECT_NE(table.find("Ascend910B2"), std::string::npos) << table;
  EXPECT_NE(table.find("48 / 65536"), std::string::npos) << table;
  EXPECT_NE(table.find("| 3      | " + std::to_string(holder)), std::string::npos) << table;
  stopHolder(holder);
  EXPECT_NE(outputOf(NPU_SMI " info").find("no running processes"), std::string::npos);
  EXPECT_NE(outputOf(NPU_SMI " info -l").find("Total Count : 8"), std::string::npos);
}

TEST(ProcessRegistryDeathTest, WhatOthersHoldIsMissingUntilTheyEnd) {
  RegistryFolder folder;
  constexpr size_t kMiB = size_t{1} << 20;
  setenv("SOFTCANN_DEVICE_MEMORY", "100M", 1);
  const pid_t holder = startHolder(0, 60 * kMiB);
  const pid_t elsewhere = startHolder(1, 80 * kMiB);
  ASSERT_GT(holder, 0);
  ASSERT_GT(elsewhere, 0);
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  size_t free = 0;
  size_t total = 0;
  void* pointer = nullptr;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT_EQ(free, 40 * kMiB);
  EXPECT_EQ(total, 100 * kMiB);
  EXPECT_FAILS(aclrtMallocAlign32(&pointer, 41 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST),
               ACL_ERROR_RT_MEMORY_ALLOCATION, "other processes have 60");
  EXPECT_OK(aclrtMallocAlign32(&pointer, 40 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtFree(pointer));
  stopHolder(holder);
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT_EQ(free, total);
  EXPECT_OK(aclrtMallocAlign32(&pointer, 100 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST));
  stopHolder(elsewhere);
}

// Of many that take as much as they get at the same time, none gets what another has.
TEST(ProcessRegistryDeathTest, ProcessesTogetherNeverTakeMoreThanThereIs) {
  RegistryFolder folder;
  constexpr size_t kBlock = size_t{1} << 20;
  constexpr int kBlocks = 40;
  setenv("SOFTCANN_DEVICE_MEMORY", "40M", 1);
  std::vector<pid_t> takers;
  int counts[2];
  ASSERT_EQ(pipe(counts), 0);
  for (int i = 0; i < 4; ++i) {
    takers.push_back(fork());
    if (takers.back() != 0) continue;
    if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) _exit(1);
    int count = 0;
    for (void* pointer = nullptr;
         aclrtMallocAlign32(&pointer, kBlock, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS;) {
      ++count;
    }
    if (write(counts[1], &count, sizeof(count)) != sizeof(count)) _exit(1);
    for (;;) pause();
  }
  close(counts[1]);
  int total = 0;
  for (size_t i = 0; i < takers.size(); ++i) {
    int count = 0;
    ASSERT_EQ(read(counts[0], &count, sizeof(count)), ssize_t{sizeof(count)});
    total += count;
  }
  for (pid_t taker : takers) stopHolder(taker);
  EXPECT_LE(total, kBlocks);
  EXPECT_GT(total, kBlocks - 8);  // the last blocks may be refused to all who ask at once
  close(counts[0]);
}

TEST(ProcessRegistryDeathTest, ProcessThatEndsTakesItsFileAlong) {
  EXPECT_EXIT(
      {
        auto folder = std::make_unique<RegistryFolder>();
        void* pointer = nullptr;
        bool right = aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(1) == ACL_SUCCESS &&
                     aclrtMallocAlign32(&pointer, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == 0;
        const auto uses = softcann::listDeviceUse();
        right = right && uses.size() == 1 && uses[0].pid == getpid() &&
                uses[0].bytes == size_t{1} << 20 && folder->files() == 1;
        right = right && aclrtResetDevice(1) == ACL_SUCCESS && softcann::listDeviceUse().empty();
        right = right && aclFinalize() == ACL_SUCCESS && folder->files() == 0;
        folder.reset();
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}
