#include "runtime/core/ipc_service.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/core/address_space.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr uint64_t kMagic = 0x3163706963736f66;
constexpr int kServerPatienceSeconds = 5;
constexpr int kClientPatienceSeconds = 60;

struct Request {
  uint64_t magic;
  IpcKind kind;
  uint64_t id;
};

enum class Status : uint32_t { kGiven, kUnknown, kNotAdmitted };

struct Reply {
  uint64_t magic;
  Status status;
  uint64_t offset;
  uint64_t size;
};

// A key is "softcann-<kind>-<pid>-<token>-<id>"; the token is random and tells processes apart that
// had the same pid.
struct Key {
  IpcKind kind;
  int pid;
  uint64_t token;
  uint64_t id;

  static std::optional<Key> parse(const std::string& text) noexcept;
  std::string text() const;
};

// What differs between the kinds.
struct KindWords {
  IpcKind kind;
  const char* in_key;  // at most five letters
  const char* what;
  const char* admit;  // what lets another process import it
};
constexpr KindWords kKinds[] = {
    {IpcKind::kMemory, "mem", "shared memory", "aclrtIpcMemSetImportPid()"},
    {IpcKind::kEvent, "event", "a shared event", "aclrtIpcGetEventHandle()"},
    {IpcKind::kNotify, "notif", "a shared notify", "aclrtNotifySetImportPid()"},
};

const KindWords& wordsOf(IpcKind kind) noexcept {
  return *std::find_if(std::begin(kKinds), std::end(kKinds) - 1,
                       [&](const KindWords& words) { return words.kind == kind; });
}

std::optional<Key> Key::parse(const std::string& text) noexcept {
  Key key = {};
  char kind[6] = {};
  int read = 0;
  if (std::sscanf(text.c_str(), "softcann-%5[a-z]-%9d-%16" SCNx64 "-%19" SCNu64 "%n", kind,
                  &key.pid, &key.token, &key.id, &read) != 4 ||
      static_cast<size_t>(read) != text.size() || key.pid <= 0) {
    return std::nullopt;
  }
  for (const KindWords& words : kKinds) {
    if (std::strcmp(kind, words.in_key) != 0) continue;
    key.kind = words.kind;
    return key;
  }
  return std::nullopt;
}

std::string Key::text() const {
  char text[kIpcKeySize];
  std::snprintf(text, sizeof(text), "softcann-%s-%d-%016" PRIx64 "-%" PRIu64, wordsOf(kind).in_key,
                pid, token, id);
  return text;
}

socklen_t socketName(int pid, uint64_t token, sockaddr_un* name) noexcept {
  *name = {};
  name->sun_family = AF_UNIX;
  const int length = std::snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1,
                                   "softcann-%d-%016" PRIx64, pid, token);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<size_t>(length));
}

void limitWaiting(int socket, int seconds) noexcept {
  timeval limit = {};
  limit.tv_sec = seconds;
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

// Who is at the other end, as the kernel knows it.
std::optional<ucred> peerOf(int socket) noexcept {
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

// A message of a reply and, if `fd` is not -1, a descriptor.
void sendReply(int socket, const Reply& reply, int fd) noexcept {
  iovec part = {const_cast<Reply*>(&reply), sizeof(reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &fd, sizeof(int));
  }
  sendmsg(socket, &message, MSG_NOSIGNAL);
}

bool receiveReply(int socket, Reply* reply, int* fd) noexcept {
  iovec part = {reply, sizeof(*reply)};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
  *fd = -1;
  if (got > 0) {
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      std::memcpy(fd, CMSG_DATA(header), sizeof(int));
    }
  }
  return got == static_cast<ssize_t>(sizeof(*reply)) && reply->magic == kMagic;
}

// ---- The exporting side ----------------------------------------------------------------------

std::atomic<int> listener{-1};

struct Entry {
  IpcExport shared;
  std::vector<int32_t> admitted;
};

struct Service {
  std::mutex mutex;
  std::map<uint64_t, Entry> exports;
  uint64_t next_id = 1;
  uint64_t token = 0;
  pthread_t thread{};

  aclError start();
  void serve(int socket);
  std::map<uint64_t, Entry>::iterator find(const std::string& text) noexcept;
  void erase(std::map<uint64_t, Entry>::iterator entry) noexcept {
    closeSegmentFile(entry->second.shared.fd);
    exports.erase(entry);
  }
};

// Leaked, with this pointer as the root: its thread runs until the process ends.
Service& service() {
  static auto* service = new Service;
  return *service;
}

void Service::serve(int socket) {
  limitWaiting(socket, kServerPatienceSeconds);
  const std::optional<ucred> peer = peerOf(socket);
  if (!peer || peer->uid != geteuid()) return;
  Request request = {};
  if (recv(socket, &request, sizeof(request), MSG_WAITALL) != ssize_t{sizeof(request)} ||
      request.magic != kMagic) {
    return;
  }
  Reply reply = {kMagic, Status::kUnknown, 0, 0};
  std::lock_guard lock(mutex);  // held while the descriptor is sent, so that it stays open
  const auto found = exports.find(request.id);
  if (found == exports.end() || found->second.shared.kind != request.kind) {
    sendReply(socket, reply, -1);
    return;
  }
  const auto& [shared, admitted] = found->second;
  if (!shared.admits_all &&
      std::find(admitted.begin(), admitted.end(), peer->pid) == admitted.end()) {
    reply.status = Status::kNotAdmitted;
    sendReply(socket, reply, -1);
    return;
  }
  reply = {kMagic, Status::kGiven, shared.offset, shared.size};
  sendReply(socket, reply, shared.fd);
}

void* serviceMain(void* /*unused*/) noexcept {
  pthread_setname_np(pthread_self(), "softcann-ipc");
  for (;;) {
    const int socket = accept4(listener.load(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) {
      try {
        service().serve(socket);
      } catch (...) {
        // Out of memory: the peer sees the connection end.
      }
      close(socket);
    } else if (errno == EBADF || errno == EINVAL) {
      return nullptr;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      usleep(1000);  // out of descriptors: another thread may give some back
    }
  }
}

aclError Service::start() {
  if (listener.load() >= 0) return ACL_SUCCESS;
  if (token == 0 && getrandom(&token, sizeof(token), 0) != ssize_t{sizeof(token)}) {
    return fail(ACL_ERROR_RT_IPC_ERROR, "cannot share: no random number for the key");
  }
  sockaddr_un name;
  const socklen_t length = socketName(getpid(), token, &name);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || bind(socket, reinterpret_cast<sockaddr*>(&name), length) != 0 ||
      listen(socket, SOMAXCONN) != 0) {
    const int error = errno;
    if (socket >= 0) close(socket);
    return fail(ACL_ERROR_RT_IPC_ERROR,
                std::string("cannot open a socket for sharing: ") + std::strerror(error));
  }
  listener.store(socket);
  // Signals are for the program's own threads.
  sigset_t all;
  sigset_t previous;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &previous);
  const int error = pthread_create(&thread, nullptr, &serviceMain, nullptr);
  pthread_sigmask(SIG_SETMASK, &previous, nullptr);
  if (error != 0) {
    close(listener.exchange(-1));
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
                std::string("cannot start the thread for sharing: ") + std::strerror(error));
  }
  return ACL_SUCCESS;
}

std::map<uint64_t, Entry>::iterator Service::find(const std::string& text) noexcept {
  const std::optional<Key> key = Key::parse(text);
  if (!key || key->token != token || key->pid != getpid()) return exports.end();
  const auto found = exports.find(key->id);
  return found != exports.end() && found->second.shared.kind == key->kind ? found : exports.end();
}

// ---- The importing side ----------------------------------------------------------------------

// Closes at the end of the scope.
struct Connection {
  int fd;
  ~Connection() {
    if (fd >= 0) close(fd);
  }
};

aclError ask(const std::string& prefix, const Key& key, IpcImport* import) {
  const std::string owner = "the process " + std::to_string(key.pid) + ", which made it,";
  const Connection connection{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  limitWaiting(connection.fd, kClientPatienceSeconds);
  sockaddr_un name;
  const socklen_t length = socketName(key.pid, key.token, &name);
  if (connect(connection.fd, reinterpret_cast<sockaddr*>(&name), length) != 0) {
    return fail(
        ACL_ERROR_RT_IPC_ERROR,
        prefix + (errno == ECONNREFUSED ? owner + " has ended"
                                        : owner + " cannot be reached: " + std::strerror(errno)));
  }
  const std::optional<ucred> peer = peerOf(connection.fd);
  if (!peer || peer->uid != geteuid()) {
    return fail(ACL_ERROR_RT_NO_PERMISSION, prefix + owner + " belongs to another user");
  }
  const Request request = {kMagic, key.kind, key.id};
  Reply reply = {};
  if (send(connection.fd, &request, sizeof(request), MSG_NOSIGNAL) != ssize_t{sizeof(request)} ||
      !receiveReply(connection.fd, &reply, &import->fd)) {
    if (import->fd >= 0) close(std::exchange(import->fd, -1));
    return fail(ACL_ERROR_RT_IPC_ERROR,
                prefix + owner + " did not answer; it has ended, is stopped, or refuses this user");
  }
  switch (reply.status) {
    case Status::kGiven:
      break;
    case Status::kNotAdmitted:
      return fail(ACL_ERROR_RT_NO_PERMISSION, prefix + owner + " does not admit process " +
                                                  std::to_string(getpid()) +
                                                  "; it may do so with " + wordsOf(key.kind).admit);
    case Status::kUnknown:
      return fail(ACL_ERROR_RT_IPC_ERROR,
                  prefix + owner + " does not share it any more: it was closed or freed there");
  }
  if (import->fd < 0) {
    return fail(ACL_ERROR_RT_IPC_ERROR, prefix + "no descriptor is left for it");
  }
  adoptSegmentFile(import->fd);
  import->offset = reply.offset;
  import->size = reply.size;
  return ACL_SUCCESS;
}

}  // namespace

aclError publishExport(const IpcExport& shared, std::string* key) {
  Service& service = softcann::service();
  std::lock_guard lock(service.mutex);
  if (const aclError code = service.start(); code != ACL_SUCCESS) return code;
  const int fd = fcntl(shared.fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) {
    return fail(ACL_ERROR_RT_IPC_ERROR,
                std::string("cannot share: no descriptor is left: ") + std::strerror(errno));
  }
  adoptSegmentFile(fd);
  const uint64_t id = service.next_id++;
  Entry& entry = service.exports[id];
  entry.shared = shared;
  entry.shared.fd = fd;
  *key = Key{shared.kind, getpid(), service.token, id}.text();
  return ACL_SUCCESS;
}

bool withdrawExport(const std::string& key) noexcept {
  Service& service = softcann::service();
  std::lock_guard lock(service.mutex);
  const auto found = service.find(key);
  if (found == service.exports.end()) return false;
  service.erase(found);
  return true;
}

void withdrawExportsOf(uintptr_t begin, size_t size) noexcept {
  Service& service = softcann::service();
  std::lock_guard lock(service.mutex);
  for (auto entry = service.exports.begin(); entry != service.exports.end();) {
    const auto next = std::next(entry);
    const IpcExport& shared = entry->second.shared;
    if (shared.kind == IpcKind::kMemory && shared.address - begin < size) service.erase(entry);
    entry = next;
  }
}

aclError admitProcesses(const char* function, const std::string& key, const int32_t* pids,
                        size_t count) {
  Service& service = softcann::service();
  std::lock_guard lock(service.mutex);
  const auto found = service.find(key);
  if (found == service.exports.end()) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": this process does not share '" +
                                             key + "'; only the process that made a key may");
  }
  auto& admitted = found->second.admitted;
  admitted.insert(admitted.end(), pids, pids + count);
  return ACL_SUCCESS;
}

aclError fetchExport(const char* function, IpcKind kind, const std::string& key,
                     IpcImport* import) {
  const std::optional<Key> parsed = Key::parse(key);
  if (!parsed || parsed->kind != kind) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": '" + key + "' is not a key of " + wordsOf(kind).what);
  }
  return ask(std::string(function) + ": the key '" + key + "' cannot be opened: ", *parsed, import);
}

bool isIpcKey(IpcKind kind, const std::string& key) noexcept {
  const std::optional<Key> parsed = Key::parse(key);
  return parsed && parsed->kind == kind;
}

bool isOwnIpcKey(const std::string& key) noexcept {
  const std::optional<Key> parsed = Key::parse(key);
  Service& service = softcann::service();
  std::lock_guard lock(service.mutex);
  return parsed && parsed->token == service.token && parsed->pid == getpid();
}

void closeIpcServiceInChild() noexcept {
  const int socket = listener.exchange(-1);
  if (socket >= 0) close(socket);
}

}  // namespace softcann
