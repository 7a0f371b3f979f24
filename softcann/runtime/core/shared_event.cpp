#include "runtime/core/shared_event.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "runtime/core/address_space.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr size_t kPage = 4096;

// Every handle is opened once in a process: closing any descriptor of a file drops all the locks
// that the process has on it.
struct OpenEvents {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<SharedEvent>> events;
};

OpenEvents& openEvents() {
  static auto* events = new OpenEvents;
  return *events;
}

bool lockNumber(int fd, uint32_t number, short type) noexcept {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

bool isLockedElsewhere(int fd, uint32_t number) noexcept {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = number;
  lock.l_len = 1;
  return fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

}  // namespace

std::shared_ptr<SharedEvent> SharedEvent::map(int fd) {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
         std::string("cannot map the state of a shared event: ") + std::strerror(errno));
    closeSegmentFile(fd);
    return nullptr;
  }
  madvise(page, kPage, MADV_DONTFORK);
  auto event = std::make_shared<SharedEvent>();
  event->fd_ = fd;
  event->state_ = static_cast<EventState*>(page);
  return event;
}

std::shared_ptr<SharedEvent> SharedEvent::create() {
  // A new page is zero, which is the state of an event that was never recorded.
  const int fd = createSegmentFile(kPage);
  return fd < 0 ? nullptr : map(fd);
}

std::shared_ptr<SharedEvent> SharedEvent::open(const std::string& handle) {
  std::lock_guard lock(openEvents().mutex);
  auto& events = openEvents().events;
  if (const auto known = events.find(handle); known != events.end()) {
    if (std::shared_ptr<SharedEvent> event = known->second.lock()) return event;
  }
  IpcImport import;
  if (fetchExport("aclrtIpcOpenEventHandle", IpcKind::kEvent, handle, &import) != ACL_SUCCESS) {
    return nullptr;
  }
  std::shared_ptr<SharedEvent> event = map(import.fd);
  if (event == nullptr) return nullptr;
  event->handle_ = handle;
  events[handle] = event;
  return event;
}

SharedEvent::~SharedEvent() {
  if (!handle_.empty()) {
    withdrawExport(handle_);
    std::lock_guard lock(openEvents().mutex);
    const auto known = openEvents().events.find(handle_);
    if (known != openEvents().events.end() && known->second.expired()) {
      openEvents().events.erase(known);
    }
  }
  if (state_ != nullptr) munmap(state_, kPage);
  if (fd_ >= 0) closeSegmentFile(fd_);
}

aclError SharedEvent::handle(std::string* handle) {
  std::lock_guard lock(openEvents().mutex);
  if (handle_.empty()) {
    IpcExport shared;
    shared.kind = IpcKind::kEvent;
    shared.fd = fd_;
    shared.size = kPage;
    if (const aclError code = publishExport(shared, &handle_); code != ACL_SUCCESS) return code;
    openEvents().events[handle_] = weak_from_this();
  }
  *handle = handle_;
  return ACL_SUCCESS;
}

std::optional<uint32_t> SharedEvent::beginRecording() {
  std::lock_guard lock(mutex_);
  for (;;) {
    uint32_t last = state_->recorded.load();
    const uint32_t number = last + 1;
    if (!lockNumber(fd_, number, F_WRLCK)) {
      if (errno != EAGAIN && errno != EACCES) {
        fail(ACL_ERROR_RT_IPC_ERROR,
             std::string("a shared event cannot be recorded: ") + std::strerror(errno));
        return std::nullopt;
      }
      sched_yield();  // another process is taking that number
      continue;
    }
    if (state_->recorded.compare_exchange_strong(last, number)) {
      under_way_.insert(number);
      return number;
    }
    if (under_way_.count(number) == 0) lockNumber(fd_, number, F_UNLCK);
  }
}

void SharedEvent::endRecording(uint32_t number) noexcept {
  std::lock_guard lock(mutex_);
  if (under_way_.erase(number) != 0) lockNumber(fd_, number, F_UNLCK);
}

bool SharedEvent::isOrphaned(uint32_t number) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (under_way_.count(number) != 0) return false;
  }
  if (isLockedElsewhere(fd_, number)) return false;
  // It may have been reached since the caller looked, and after that it is not locked.
  return static_cast<int32_t>(state_->completed.load() - number) < 0;
}

}  // namespace softcann
