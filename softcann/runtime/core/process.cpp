#include "runtime/core/process.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/core/address_space.h"
#include "runtime/core/device.h"
#include "runtime/core/fault.h"
#include "runtime/core/host_memory.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/platform.h"
#include "runtime/core/process_registry.h"

namespace softcann {

std::atomic<ProcessState> process_state{ProcessState::kUninitialized};

namespace {

// How long exit() waits for tasks that are running.
constexpr int kExitPatienceMs = 2000;

std::mutex& lifeMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

pid_t owner_pid = 0;

void onExit() noexcept {
  // A child made by other means than fork() has not run the handler below.
  if (process_state.load() == ProcessState::kForked || getpid() != owner_pid) return;
  withdrawProcess();
  if (process_state.exchange(ProcessState::kFinalized) != ProcessState::kReady) return;
  const Deadline deadline = Deadline::afterMilliseconds(kExitPatienceMs);
  for (Device* device : Device::all()) device->requestStop();
  for (Device* device : Device::all()) device->waitStopped(deadline);
}

void onForkInChild() noexcept {
  if (owner_pid == 0) return;
  process_state.store(ProcessState::kForked);
  Context::setCurrent(nullptr);
  closeSegmentFilesInChild();
  closeIpcServiceInChild();
  forgetRecordInChild();
}

// The settings in the file concern dumps and profiling of real hardware. They are not needed
// here, but a file that cannot be meant is refused.
aclError checkConfigFile(const char* path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path, "re"), &std::fclose);
  if (!file) {
    return fail(ACL_ERROR_INVALID_FILE, std::string("aclInit: cannot open ") + path);
  }
  char first = '\0';
  if (std::fscanf(file.get(), " %c", &first) == 1 && first != '{') {
    return fail(ACL_ERROR_PARSE_FILE, std::string("aclInit: ") + path + " is not a JSON object");
  }
  return ACL_SUCCESS;
}

}  // namespace

aclError notReady() noexcept {
  switch (process_state.load()) {
    case ProcessState::kForked:
      return fail(ACL_ERROR_UNINITIALIZE,
                  "a forked child cannot use its parent's devices; start it with exec (in Python: "
                  "multiprocessing's 'spawn' start method)");
    case ProcessState::kFinalized:
      return fail(ACL_ERROR_UNINITIALIZE, "the runtime has been finalised");
    default:
      return fail(ACL_ERROR_UNINITIALIZE, "the runtime is not initialised: call aclInit() first");
  }
}

aclError initializeProcess(const char* config_path) noexcept {
  // Before the lock, which a thread of the parent may have held.
  if (process_state.load() == ProcessState::kForked) return notReady();
  std::lock_guard lock(lifeMutex());
  if (processIsReady()) {
    return fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: the runtime is initialised already");
  }
  return guarded([&]() -> aclError {
    const Platform* settings = platform();
    if (settings == nullptr) return ACL_ERROR_INVALID_PARAM;
    if (config_path != nullptr && *config_path != '\0') {
      if (const aclError code = checkConfigFile(config_path); code != ACL_SUCCESS) return code;
    }
    const int count = static_cast<int>(settings->visible.size());
    if (const aclError code = reserveAddressSpace(count); code != ACL_SUCCESS) return code;
    if (owner_pid == 0) {
      owner_pid = getpid();
      pthread_atfork(nullptr, nullptr, &onForkInChild);
      std::atexit(&onExit);
      for (int id = 0; id < count; ++id) {
        Device::all().push_back(new Device(id, settings->visible[static_cast<size_t>(id)]));
      }
    }
    process_state.store(ProcessState::kReady);
    return ACL_SUCCESS;
  });
}

aclError finalizeProcess() noexcept {
  if (process_state.load() == ProcessState::kForked) return notReady();
  std::lock_guard lock(lifeMutex());
  if (process_state.load() == ProcessState::kFinalized) {
    return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: the runtime has been finalised already");
  }
  if (!processIsReady()) return notReady();
  aclError first = ACL_SUCCESS;
  for (Device* device : Device::all()) {
    if (!device->isOpen()) continue;
    const aclError code = device->close(/*force=*/false, /*all_uses=*/true);
    if (first == ACL_SUCCESS) first = code;
  }
  process_state.store(ProcessState::kFinalized);
  freeAllHost();
  withdrawProcess();
  removeFaultReport();
  return first;
}

}  // namespace softcann
