// How the processes that use a piece of shared memory tell its owner that they have let go of it.
//
// Note [References across processes]: the owner keeps what it has sent until the receiver releases
// it. For that a receiver connects to an abstract Unix socket of the owner, one connection for each
// pair of processes, claims what has reached it and releases it later. The kernel closes the
// connection with the receiver, however that ends, and with it goes all that it had claimed. What
// was sent and never claimed is kept until the owner ends: it may still be on its way. Only
// processes of the same user are listened to.
#pragma once

#include <c10/macros/Export.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace torch_npu::ipc {

// Owner's side
// -------------------------------------------------------------------------------------------------

struct Reference {
  std::string owner;  // names the process; printable
  uint64_t number = 0;
};

// Keeps `kept` until a receiver has claimed and released the reference. Starts the thread that
// listens, at the first call. Throws c10::Error.
C10_EXPORT Reference keepForReceiver(std::shared_ptr<void> kept);

// References that no receiver has claimed yet.
C10_EXPORT size_t unclaimedReferences();
// References that are kept, or whose memory is being let go of.
C10_EXPORT size_t keptReferences();

// Receiver's side
// -------------------------------------------------------------------------------------------------

// A claimed reference; released at the end of its life. Several may claim the same one, as long as
// one of them holds it.
class C10_EXPORT Claim {
 public:
  // Throws c10::Error, which names the reference, where the owner has ended or has let go of it.
  explicit Claim(const Reference& reference);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

 private:
  class Connection;
  std::shared_ptr<Connection> connection_;
  uint64_t number_;
};

}  // namespace torch_npu::ipc
