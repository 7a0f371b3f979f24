// A second process for a test, forked before the runtime is used in this one, and spoken to through
// a pair of sockets.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <type_traits>
#include <utility>

#include "runtime_test.h"

class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  Channel(Channel&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Channel& operator=(Channel&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Channel() { close(); }

  // The other end hears of it even where a process that was forked later holds a copy.
  void close() {
    if (fd_ < 0) return;
    shutdown(fd_, SHUT_RDWR);
    ::close(std::exchange(fd_, -1));
  }
  template <class Value>
  void send(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    EXPECT_EQ(::send(fd_, &value, sizeof(value), MSG_NOSIGNAL), ssize_t{sizeof(value)});
  }
  // False where the other process has ended.
  template <class Value>
  bool tryReceive(Value& value) {
    return recv(fd_, &value, sizeof(value), MSG_WAITALL) == ssize_t{sizeof(value)};
  }
  template <class Value>
  Value receive() {
    Value value = {};
    EXPECT_TRUE(tryReceive(value)) << "the other process has ended";
    return value;
  }

 private:
  int fd_;
};

// Initialises the runtime in this process, with device 0 current.
inline bool runtime_started = false;
inline void startRuntime() {
  runtime_started = true;
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS) << recentMessage();
  ASSERT_OK(aclrtSetDevice(0));
}

// Runs `body`, with a runtime of its own, in another process. At the end of its life it waits for
// the body to return, which must not have failed.
class SecondProcess {
 public:
  explicit SecondProcess(const std::function<void(Channel&)>& body) {
    EXPECT_FALSE(runtime_started) << "fork first: a forked child cannot use its parent's runtime";
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::abort();
    pid_ = fork();
    if (pid_ != 0) {
      ::close(ends[1]);
      channel_ = Channel(ends[0]);
      return;
    }
    ::close(ends[0]);
    Channel channel(ends[1]);
    startRuntime();
    body(channel);
    _exit(testing::Test::HasFailure() ? 96 : 0);
  }
  SecondProcess(SecondProcess&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), channel_(std::move(other.channel_)) {}
  ~SecondProcess() {
    channel_.close();
    if (pid_ <= 0) return;
    int status = 0;
    waitpid(pid_, &status, 0);
    EXPECT_EQ(status, 0) << "the second process failed";
  }

  Channel& channel() { return channel_; }
  void order(char what) {
    channel_.send(what);
    EXPECT_EQ(channel_.receive<char>(), '.');
  }
  int ask(char what) {
    channel_.send(what);
    return channel_.receive<int>();
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  pid_t pid_ = -1;
  Channel channel_{-1};
};
