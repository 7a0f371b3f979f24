#include "runtime/core/process_registry.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <tuple>

#include "runtime/core/device.h"

namespace softcann {
namespace {

constexpr uint64_t kFileMagic = 0x31737361636e7066;
constexpr int kMostDevices = 64;

struct Record {
  std::atomic<uint64_t> magic;
  char name[64];
  struct {
    std::atomic<uint64_t> in_use;
    std::atomic<uint64_t> bytes;
  } devices[kMostDevices];
};

struct OwnRecord {
  std::mutex mutex;
  std::atomic<Record*> record{nullptr};
  std::string path;
  int fd = -1;
};

OwnRecord& own() {
  static auto* own = new OwnRecord;
  return *own;
}

// The directory, created if needed; empty if it is not ours alone.
std::string registryFolder() {
  const char* chosen = std::getenv("SOFTCANN_RUNTIME_DIR");
  std::string folder =
      chosen != nullptr && *chosen != '\0' ? chosen : "/tmp/softcann-" + std::to_string(geteuid());
  mkdir(folder.c_str(), 0700);
  struct stat status;
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
      status.st_uid != geteuid()) {
    return {};
  }
  return folder;
}

bool lockFile(int fd) noexcept {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

bool isLocked(int fd) noexcept {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

std::string processName() {
  char name[64] = {};
  if (FILE* file = std::fopen("/proc/self/comm", "re")) {
    if (std::fgets(name, sizeof(name), file) == nullptr) name[0] = '\0';
    std::fclose(file);
  }
  name[std::strcspn(name, "\n")] = '\0';
  return name;
}

// Locked before it gets a name: nobody sees it unlocked and takes it for a dead one.
Record* createRecord(OwnRecord& mine) {
  const std::string folder = registryFolder();
  if (folder.empty()) return nullptr;
  listDeviceUse();  // removes what killed processes have left
  mine.path = folder + "/" + std::to_string(getpid());
  mine.fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (mine.fd < 0) return nullptr;
  void* mapped = MAP_FAILED;
  if (ftruncate(mine.fd, sizeof(Record)) == 0 && lockFile(mine.fd)) {
    mapped = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, mine.fd, 0);
  }
  unlink(mine.path.c_str());  // of a dead process that had the same pid
  const std::string unnamed = "/proc/self/fd/" + std::to_string(mine.fd);
  if (mapped == MAP_FAILED ||
      linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, mine.path.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    close(mine.fd);
    return nullptr;
  }
  madvise(mapped, sizeof(Record), MADV_DONTFORK);
  auto* record = static_cast<Record*>(mapped);
  std::snprintf(record->name, sizeof(record->name), "%s", processName().c_str());
  record->magic.store(kFileMagic, std::memory_order_release);
  return record;
}

void readRecord(const std::string& path, int pid, std::vector<DeviceUse>& uses) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return;
  if (!isLocked(fd)) {
    unlink(path.c_str());
    close(fd);
    return;
  }
  void* mapped = mmap(nullptr, sizeof(Record), PROT_READ, MAP_SHARED, fd, 0);
  struct stat status;
  const bool whole = fstat(fd, &status) == 0 && status.st_size >= off_t{sizeof(Record)};
  close(fd);
  if (mapped == MAP_FAILED) return;
  const auto* record = static_cast<const Record*>(mapped);
  if (whole && record->magic.load(std::memory_order_acquire) == kFileMagic) {
    for (int device = 0; device < kMostDevices; ++device) {
      if (record->devices[device].in_use.load() == 0) continue;
      uses.push_back({device, pid, record->name, record->devices[device].bytes.load()});
    }
  }
  munmap(mapped, sizeof(Record));
}

void readOwnRecord(std::vector<DeviceUse>& uses) {
  const Record* record = own().record.load();
  if (record == nullptr) return;
  for (int device = 0; device < kMostDevices; ++device) {
    if (record->devices[device].in_use.load() == 0) continue;
    uses.push_back({device, getpid(), record->name, record->devices[device].bytes.load()});
  }
}

}  // namespace

void registerDevice(int physical_device) noexcept {
  guarded([&] {
    std::lock_guard lock(own().mutex);
    if (own().record.load() == nullptr) own().record.store(createRecord(own()));
    if (Record* record = own().record.load()) record->devices[physical_device].in_use.store(1);
    return ACL_SUCCESS;
  });
}

void unregisterDevice(int physical_device) noexcept {
  if (Record* record = own().record.load()) {
    record->devices[physical_device].bytes.store(0);
    record->devices[physical_device].in_use.store(0);
  }
}

void publishMemoryUse(int device, size_t bytes) noexcept {
  Record* record = own().record.load(std::memory_order_relaxed);
  if (record == nullptr) return;
  const int physical = Device::all()[static_cast<size_t>(device)]->physicalId();
  record->devices[physical].bytes.store(bytes);
}

size_t memoryUseOfOthers(int device) noexcept {
  size_t bytes = 0;
  guarded([&] {
    const int physical = Device::all()[static_cast<size_t>(device)]->physicalId();
    for (const DeviceUse& use : listDeviceUse()) {
      if (use.physical_device == physical && use.pid != getpid()) bytes += use.bytes;
    }
    return ACL_SUCCESS;
  });
  return bytes;
}

void withdrawProcess() noexcept {
  std::lock_guard lock(own().mutex);
  Record* record = own().record.exchange(nullptr);
  if (record == nullptr) return;
  unlink(own().path.c_str());
  close(own().fd);
  guarded([] {
    listDeviceUse();  // removes what killed processes have left
    return ACL_SUCCESS;
  });
  // The mapping stays: another thread may be publishing. It is a page or two.
}

void forgetRecordInChild() noexcept { own().record.store(nullptr); }

std::vector<DeviceUse> listDeviceUse() {
  std::vector<DeviceUse> uses;
  const std::string folder = registryFolder();
  if (DIR* directory = folder.empty() ? nullptr : opendir(folder.c_str())) {
    while (const dirent* file = readdir(directory)) {
      const char* name = file->d_name;
      int pid = 0;
      const auto parsed = std::from_chars(name, name + std::strlen(name), pid);
      // Closing one's own file would drop one's own lock.
      if (*parsed.ptr != '\0' || pid <= 0 || pid == getpid()) continue;
      readRecord(folder + "/" + file->d_name, pid, uses);
    }
    closedir(directory);
  }
  readOwnRecord(uses);
  std::sort(uses.begin(), uses.end(), [](const DeviceUse& a, const DeviceUse& b) {
    return std::tie(a.physical_device, a.pid) < std::tie(b.physical_device, b.pid);
  });
  return uses;
}

}  // namespace softcann
