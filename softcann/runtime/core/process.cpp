#include "runtime/core/process.h"

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <regex>
#include <string>

#include "runtime/core/address_space.h"
#include "runtime/core/device.h"
#include "runtime/core/fault.h"
#include "runtime/core/host_memory.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/platform.h"
#include "runtime/core/process_registry.h"
#include "runtime/core/registered_callbacks.h"

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

// Python loads a module's libraries for that module only. CANN's libraries open the runtime for the
// whole process, and so does this: a preloaded library that stands in for one of its functions then
// finds the function itself by dlsym(RTLD_NEXT).
void joinGlobalScope() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&joinGlobalScope), &own) != 0) {
    dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
  }
}

// What the file says of `defaultDevice`, or -1. Its other settings concern dumps and profiling of
// real hardware and are not needed here, but a file that cannot be meant is refused.
aclError readConfigFile(const char* path, int64_t& default_device, std::string& contents) {
  std::ifstream file(path);
  if (!file) {
    return fail(ACL_ERROR_INVALID_FILE, std::string("aclInit: cannot open ") + path);
  }
  contents.assign(std::istreambuf_iterator<char>(file), {});
  const std::string& text = contents;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] != '{') {
    return fail(ACL_ERROR_PARSE_FILE, std::string("aclInit: ") + path + " is not a JSON object");
  }
  static const std::regex kDefaultDevice(
      R"re("defaultDevice"\s*:\s*\{[^}]*"default_device"\s*:\s*"([^"]*)")re");
  std::smatch found;
  default_device = -1;
  if (!std::regex_search(text, found, kDefaultDevice)) return ACL_SUCCESS;
  const std::string number = found[1];
  const char* end = number.data() + number.size();
  const auto read = std::from_chars(number.data(), end, default_device);
  if (read.ec == std::errc() && read.ptr == end && default_device >= 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string("aclInit: ") + path + " names '" + number +
                                           "' as the default device, which is not a number");
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
    VisibleDevices visible;
    if (const aclError code = readVisibleDevices(visible); code != ACL_SUCCESS) return code;
    int64_t default_device = -1;
    std::string contents;
    if (config_path != nullptr && *config_path != '\0') {
      const aclError code = readConfigFile(config_path, default_device, contents);
      if (code != ACL_SUCCESS) return code;
    }
    const int count = static_cast<int>(visible.physical_ids.size());
    if (default_device >= count) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string("aclInit: ") + config_path +
                                               " names a default device that is not there: " +
                                               std::to_string(default_device));
    }
    if (const aclError code = reserveAddressSpace(count); code != ACL_SUCCESS) return code;
    if (owner_pid == 0) {
      if (!visible.unread.empty()) {
        ACL_APP_LOG(ACL_ERROR,
                    "'%s' of ASCEND_RT_VISIBLE_DEVICES is not read: %d devices are visible",
                    visible.unread.c_str(), count);
      }
      fixVisibleDevices(visible);
      owner_pid = getpid();
      pthread_atfork(nullptr, nullptr, &onForkInChild);
      std::atexit(&onExit);
      joinGlobalScope();
      for (int id = 0; id < count; ++id) {
        Device::all().push_back(new Device(id, visible.physical_ids[static_cast<size_t>(id)]));
      }
    }
    Context::setDefaultDevice(
        default_device < 0 ? nullptr : Device::all()[static_cast<size_t>(default_device)]);
    process_state.store(ProcessState::kReady);
    const bool has_config = config_path != nullptr && *config_path != '\0';
    const aclError code =
        runInitCallbacks(has_config ? std::optional(std::move(contents)) : std::nullopt);
    if (code != ACL_SUCCESS) process_state.store(ProcessState::kUninitialized);
    return code;
  });
}

aclError finalizeProcess() noexcept {
  if (process_state.load() == ProcessState::kForked) return notReady();
  std::lock_guard lock(lifeMutex());
  if (process_state.load() == ProcessState::kFinalized) {
    return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: the runtime has been finalised already");
  }
  if (!processIsReady()) return notReady();
  aclError first = runFinalizeCallbacks();
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
