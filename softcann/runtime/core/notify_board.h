// Note [Boards]: the numbers of notifies lie side by side in boards, pieces of shared memory, so
// that any notify can be shared with another process at any time, and without a descriptor for
// each. A slot that another process may have mapped is not used again. An importer maps the whole
// board of the exporter; it is a process of the same user.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "acl/acl_base.h"

namespace softcann {

struct NotifySlot;

class NotifyBoard {
 public:
  // A slot that is 0, on a board of this process; null with the error text set.
  static NotifySlot* takeSlot(NotifyBoard** board);
  // `reusable`: no other process can have it.
  void giveBack(NotifySlot* slot, bool reusable) noexcept;

  static aclError publish(const NotifyBoard* board, const NotifySlot* slot, bool admits_all,
                          std::string* key);
  // Maps the slot behind another process's key until releaseImport(); null with the error text set.
  static NotifySlot* importSlot(const std::string& key);
  static void releaseImport(NotifySlot* slot) noexcept;

 private:
  NotifyBoard(int fd, NotifySlot* slots) noexcept : fd_(fd), slots_(slots) {}

  int fd_;
  NotifySlot* slots_;
};

}  // namespace softcann
