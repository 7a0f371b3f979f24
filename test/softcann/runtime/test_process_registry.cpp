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
