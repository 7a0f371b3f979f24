#include "runtime/core/notify_board.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "runtime/core/address_space.h"
#include "runtime/core/ipc_service.h"
#include "runtime/core/notify.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kSlots = kPage / sizeof(NotifySlot);
static_assert(kPage % sizeof(NotifySlot) == 0);

struct FreeSlot {
  NotifyBoard* board;
  NotifySlot* slot;
};

// Leaked, as everything is that tasks may use until the process ends.
struct Boards {
  std::mutex mutex;
  std::vector<FreeSlot> free;
};

Boards& boards() {
  static auto* boards = new Boards;
  return *boards;
}

NotifySlot* mapBoard(int fd) noexcept {
  void* page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
         std::string("cannot map the state of notifies: ") + std::strerror(errno));
    return nullptr;
  }
  madvise(page, kPage, MADV_DONTFORK);
  return static_cast<NotifySlot*>(page);
}

}  // namespace

NotifySlot* NotifyBoard::takeSlot(NotifyBoard** board) {
  std::lock_guard lock(boards().mutex);
  auto& free = boards().free;
  if (free.empty()) {
    // Room for the slots first, so that nothing throws once there is a board.
    free.reserve(free.capacity() + kSlots);
    const int fd = createSegmentFile(kPage);
    if (fd < 0) return nullptr;
    NotifySlot* slots = mapBoard(fd);
    if (slots == nullptr) {
      closeSegmentFile(fd);
      return nullptr;
    }
    auto* created = new NotifyBoard(fd, slots);
    for (size_t i = kSlots; i-- > 0;) free.push_back({created, slots + i});
  }
  const FreeSlot taken = free.back();
  free.pop_back();
  *board = taken.board;
  taken.slot->value.store(0);
  return taken.slot;
}

void NotifyBoard::giveBack(NotifySlot* slot, bool reusable) noexcept {
  if (!reusable) return;
  std::lock_guard lock(boards().mutex);
  boards().free.push_back({this, slot});  // within the capacity that takeSlot() has reserved
}

aclError NotifyBoard::publish(const NotifyBoard* board, const NotifySlot* slot, bool admits_all,
                              std::string* key) {
  IpcExport shared;
  shared.kind = IpcKind::kNotify;
  shared.fd = board->fd_;
  shared.offset = static_cast<size_t>(slot - board->slots_) * sizeof(NotifySlot);
  shared.size = sizeof(NotifySlot);
  shared.admits_all = admits_all;
  return publishExport(shared, key);
}

NotifySlot* NotifyBoard::importSlot(const std::string& key) {
  IpcImport import;
  if (fetchExport("aclrtNotifyImportByKey", IpcKind::kNotify, key, &import) != ACL_SUCCESS) {
    return nullptr;
  }
  NotifySlot* slots = nullptr;
  if (import.offset % sizeof(NotifySlot) != 0 || import.offset >= kPage) {
    fail(ACL_ERROR_RT_IPC_ERROR, "aclrtNotifyImportByKey: the answer of the process that made '" +
                                     key + "' makes no sense");
  } else {
    slots = mapBoard(import.fd);
  }
  closeSegmentFile(import.fd);
  return slots == nullptr ? nullptr : slots + import.offset / sizeof(NotifySlot);
}

void NotifyBoard::releaseImport(NotifySlot* slot) noexcept {
  // A board is one page, so that its beginning tells from any of its slots.
  munmap(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) / kPage * kPage), kPage);
}

}  // namespace softcann
