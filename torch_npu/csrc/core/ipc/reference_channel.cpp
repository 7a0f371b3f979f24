#include "torch_npu/csrc/core/ipc/reference_channel.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

namespace torch_npu::ipc {

namespace {

constexpr int kPatienceSeconds = 60;

enum class Action : uint32_t { kClaim = 1, kRelease = 2 };
struct Message {
  Action action;
  uint64_t number;
};
enum class Answer : uint8_t { kClaimed = 1, kUnknown = 2 };

// The sockets of this module. A forked child closes its copies, so that the connection still ends
// with the process that it belongs to.
class Sockets {
 public:
  static constexpr int kMost = 1 << 16;

  void add(int fd) noexcept {
    if (fd < kMost) words_[fd / 64].fetch_or(uint64_t{1} << (fd % 64));
  }
  void remove(int fd) noexcept {
    if (fd < kMost) words_[fd / 64].fetch_and(~(uint64_t{1} << (fd % 64)));
    close(fd);
  }
  void closeAllInChild() noexcept {
    for (int word = 0; word < kMost / 64; ++word) {
      for (uint64_t bits = words_[word].exchange(0); bits != 0; bits &= bits - 1) {
        close(word * 64 + __builtin_ctzll(bits));
      }
    }
  }

 private:
  std::array<std::atomic<uint64_t>, kMost / 64> words_{};
};
constinit Sockets sockets;

[[maybe_unused]] const int kForkHandler =
    pthread_atfork(nullptr, nullptr, [] { sockets.closeAllInChild(); });

// Owns one of `sockets`.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {
    if (fd >= 0) sockets.add(fd);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) sockets.remove(fd_);
  }
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

Socket newSocket() { return Socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

socklen_t addressOf(const std::string& owner, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  std::memcpy(address->sun_path + 1, owner.data(),
              std::min(owner.size(), sizeof(address->sun_path) - 1));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + owner.size());
}

bool isSameUser(int socket) noexcept {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

// ---- Owner's side ----------------------------------------------------------------------------

struct Kept {
  std::shared_ptr<void> memory;
  bool was_claimed = false;
  size_t claims = 0;
};

struct Receiver {
  Socket socket;
  std::unordered_map<uint64_t, size_t> claims;
};

class Owner {
 public:
  Reference keep(std::shared_ptr<void> memory) {
    std::lock_guard<std::mutex> guard(mutex_);
    if (name_.empty()) start();
    const uint64_t number = next_number_++;
    kept_[number].memory = std::move(memory);
    return {name_, number};
  }

  size_t unclaimed() {
    std::lock_guard<std::mutex> guard(mutex_);
    size_t count = 0;
    for (const auto& [number, kept] : kept_) count += kept.was_claimed ? 0 : 1;
    return count;
  }

  size_t kept() {
    std::lock_guard<std::mutex> guard(mutex_);
    return kept_.size() + being_released_;
  }

 private:
  void start();
  static void* listen(void* owner);
  void serve(int listener);
  // False where the connection is to end.
  bool answer(Receiver& receiver);
  bool claim(uint64_t number);
  void release(uint64_t number, size_t claims);

  std::mutex mutex_;
  std::string name_;
  uint64_t next_number_ = 1;
  std::unordered_map<uint64_t, Kept> kept_;
  size_t being_released_ = 0;
};

// Never destroyed: its thread runs until the process ends.
Owner& owner() {
  static auto* owner = new Owner;
  return *owner;
}

void Owner::start() {
  uint64_t token = 0;
  TORCH_CHECK(getrandom(&token, sizeof(token), 0) == ssize_t{sizeof(token)},
              "memory cannot be shared with other processes: no random number");
  char name[64];
  std::snprintf(name, sizeof(name), "torch-npu-%d-%016" PRIx64, static_cast<int>(getpid()), token);
  Socket listener = newSocket();
  sockaddr_un address;
  const socklen_t length = addressOf(name, &address);
  TORCH_CHECK(listener.get() >= 0 &&
                  bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                  ::listen(listener.get(), SOMAXCONN) == 0,
              "memory cannot be shared with other processes: ", std::strerror(errno));
  auto handed_over = std::make_unique<Socket>(std::move(listener));
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  const int error = pthread_create(&thread, nullptr, &Owner::listen, handed_over.get());
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  TORCH_CHECK(error == 0, "memory cannot be shared with other processes: ", std::strerror(error));
  pthread_detach(thread);
  (void)handed_over.release();  // the thread's
  name_ = name;
}

void* Owner::listen(void* listener) {
  pthread_setname_np(pthread_self(), "npu-references");
  owner().serve(static_cast<Socket*>(listener)->get());
  return nullptr;
}

void Owner::serve(int listener) {
  std::vector<Receiver> receivers;
  std::vector<pollfd> waiting;
  for (;;) {
    waiting.assign(1, {listener, POLLIN, 0});
    for (const Receiver& receiver : receivers)
      waiting.push_back({receiver.socket.get(), POLLIN, 0});
    if (poll(waiting.data(), waiting.size(), -1) < 0) continue;
    for (size_t i = receivers.size(); i-- > 0;) {
      if (waiting[i + 1].revents == 0 || answer(receivers[i])) continue;
      for (const auto& [number, claims] : receivers[i].claims) release(number, claims);
      receivers.erase(receivers.begin() + static_cast<ptrdiff_t>(i));
    }
    if (waiting[0].revents == 0) continue;
    Socket socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) {
      usleep(1000);  // out of descriptors: another thread may give some back
    } else if (isSameUser(socket.get())) {
      receivers.push_back({std::move(socket), {}});
    }
  }
}

bool Owner::answer(Receiver& receiver) {
  Message message;
  const ssize_t got = recv(receiver.socket.get(), &message, sizeof(message), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got != ssize_t{sizeof(message)}) return false;
  if (message.action == Action::kClaim) {
    const bool known = claim(message.number);
    if (known) ++receiver.claims[message.number];
    const Answer answer = known ? Answer::kClaimed : Answer::kUnknown;
    return send(receiver.socket.get(), &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer);
  }
  const auto claimed = receiver.claims.find(message.number);
  if (message.action != Action::kRelease || claimed == receiver.claims.end()) return false;
  if (--claimed->second == 0) receiver.claims.erase(claimed);
  release(message.number, 1);
  return true;
}

bool Owner::claim(uint64_t number) {
  std::lock_guard<std::mutex> guard(mutex_);
  const auto found = kept_.find(number);
  if (found == kept_.end()) return false;
  found->second.was_claimed = true;
  ++found->second.claims;
  return true;
}

void Owner::release(uint64_t number, size_t claims) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto found = kept_.find(number);
  if (found == kept_.end()) return;
  found->second.claims -= claims;
  if (found->second.claims > 0) return;
  std::shared_ptr<void> memory = std::move(found->second.memory);
  kept_.erase(found);
  ++being_released_;
  lock.unlock();  // letting go takes locks of its own
  memory.reset();
  lock.lock();
  --being_released_;
}

}  // namespace

Reference keepForReceiver(std::shared_ptr<void> kept) { return owner().keep(std::move(kept)); }

size_t unclaimedReferences() { return owner().unclaimed(); }

size_t keptReferences() { return owner().kept(); }

// ---- Receiver's side -------------------------------------------------------------------------

class Claim::Connection {
 public:
  static std::shared_ptr<Connection> to(const std::string& owner);

  explicit Connection(const std::string& owner);

  bool claim(uint64_t number) {
    const Message message{Action::kClaim, number};
    Answer answer = Answer::kUnknown;
    std::lock_guard<std::mutex> guard(mutex_);
    TORCH_CHECK(send(socket_.get(), &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message) &&
                    recv(socket_.get(), &answer, sizeof(answer), 0) == sizeof(answer),
                "the process '", owner_, "', which sent memory of an npu device, does not answer: ",
                "it has ended or is stopped");
    return answer == Answer::kClaimed;
  }

  // An owner that has ended has nothing left to release.
  void release(uint64_t number) noexcept {
    const Message message{Action::kRelease, number};
    (void)send(socket_.get(), &message, sizeof(message), MSG_NOSIGNAL);
  }

 private:
  std::string owner_;
  Socket socket_;
  std::mutex mutex_;
};

Claim::Connection::Connection(const std::string& owner) : owner_(owner), socket_(newSocket()) {
  timeval limit = {};
  limit.tv_sec = kPatienceSeconds;
  setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_un address;
  TORCH_CHECK_VALUE(!owner.empty() && owner.size() < sizeof(address.sun_path) - 1, "'", owner,
                    "' is not the name of a process that shares memory of an npu device");
  const socklen_t length = addressOf(owner, &address);
  TORCH_CHECK(connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0,
              "the process '", owner, "', which sent memory of an npu device, cannot be reached (",
              std::strerror(errno), "): it must live until its tensors have been received");
  TORCH_CHECK(isSameUser(socket_.get()), "the process '", owner, "' belongs to another user");
}

std::shared_ptr<Claim::Connection> Claim::Connection::to(const std::string& owner) {
  static auto* mutex = new std::mutex;
  static auto* connections = new std::unordered_map<std::string, std::weak_ptr<Connection>>;
  std::lock_guard<std::mutex> guard(*mutex);
  std::weak_ptr<Connection>& known = (*connections)[owner];
  std::shared_ptr<Connection> connection = known.lock();
  if (connection == nullptr) {
    std::erase_if(*connections, [&](const auto& entry) {
      return entry.second.expired() && entry.first != owner;
    });
    connection = std::make_shared<Connection>(owner);
    (*connections)[owner] = connection;
  }
  return connection;
}

Claim::Claim(const Reference& reference)
    : connection_(Connection::to(reference.owner)), number_(reference.number) {
  TORCH_CHECK(connection_->claim(number_), "the process '", reference.owner,
              "' does not keep the memory with the number ", number_,
              " any more: what was sent once can be received once, or again while it is in use");
}

Claim::~Claim() { connection_->release(number_); }

}  // namespace torch_npu::ipc
