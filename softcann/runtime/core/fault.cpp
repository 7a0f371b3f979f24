#include "runtime/core/fault.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "runtime/core/address_space.h"
#include "runtime/core/allocation_trace.h"
#include "runtime/core/process.h"
#include "runtime/core/stream.h"

namespace softcann {
namespace {

// Everything from here to install is async-signal-safe: no locks, no allocation.

class Line {
 public:
  Line& operator<<(const char* text) noexcept {
    while (*text != '\0' && size_ < sizeof(text_)) text_[size_++] = *text++;
    return *this;
  }
  Line& operator<<(uint64_t number) noexcept {
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (count > 0 && size_ < sizeof(text_)) text_[size_++] = digits[--count];
    return *this;
  }
  Line& hexadecimal(uint64_t number) noexcept {
    *this << "0x";
    bool begun = false;
    for (int shift = 60; shift >= 0; shift -= 4) {
      const unsigned digit = number >> shift & 15;
      begun = begun || digit != 0 || shift == 0;
      if (begun && size_ < sizeof(text_)) text_[size_++] = "0123456789abcdef"[digit];
    }
    return *this;
  }
  void print() noexcept {
    const char* from = text_;
    while (size_ > 0) {
      const ssize_t written = write(STDERR_FILENO, from, size_);
      if (written <= 0) return;
      from += written;
      size_ -= static_cast<size_t>(written);
    }
  }

 private:
  char text_[1024];
  size_t size_ = 0;
};

uint64_t parseHexadecimal(const char*& text) noexcept {
  uint64_t value = 0;
  for (;; ++text) {
    const char c = *text;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

// If the line of /proc/self/maps holds `code`: appends the file and the offset in it.
bool describeIfInside(char* line, uint64_t code, Line& out) noexcept {
  const char* at = line;
  const uint64_t begin = parseHexadecimal(at);
  if (*at++ != '-') return false;
  const uint64_t end = parseHexadecimal(at);
  if (code < begin || code >= end) return false;
  const char* permissions = std::strchr(at, ' ');
  const char* offset = permissions == nullptr ? nullptr : std::strchr(permissions + 1, ' ');
  const char* path = std::strchr(at, '/');
  if (offset == nullptr || path == nullptr) return false;
  ++offset;
  const uint64_t file_offset = parseHexadecimal(offset);
  (out << path << "+").hexadecimal(code - begin + file_offset);
  return true;
}

void describeCode(uint64_t code, Line& out) noexcept {
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  bool found = false;
  if (fd >= 0) {
    char buffer[2048];
    size_t filled = 0;
    for (;;) {
      const ssize_t got = read(fd, buffer + filled, sizeof(buffer) - 1 - filled);
      if (got <= 0) break;
      filled += static_cast<size_t>(got);
      buffer[filled] = '\0';
      char* line = buffer;
      while (char* newline = std::strchr(line, '\n')) {
        *newline = '\0';
        found = found || describeIfInside(line, code, out);
        line = newline + 1;
      }
      if (found || line == buffer) break;
      filled = static_cast<size_t>(buffer + filled - line);
      std::memmove(buffer, line, filled);
    }
    close(fd);
  }
  if (!found) out.hexadecimal(code);
}

const char* accessVerb(const void* context) noexcept {
#if defined(__x86_64__)
  const auto* machine = static_cast<const ucontext_t*>(context);
  return (machine->uc_mcontext.gregs[REG_ERR] & 2) != 0 ? "wrote to" : "read";
#else
  (void)context;
  return "touched";
#endif
}

void report(int signal, uintptr_t address, const void* context) noexcept {
  const bool mirror = address_space.containsMirrorAddress(address);
  if (!mirror && !address_space.containsDeviceAddress(address)) return;
  const uintptr_t device_address = mirror ? address - address_space.distance : address;
  Line line;
  line << "softcann: ";
  if (process_state.load() == ProcessState::kForked) {
    line << "a forked child " << accessVerb(context) << " device memory of its parent";
  } else if (Stream::runningTask() != nullptr) {
    line << "the task " << Stream::runningTask() << " " << accessVerb(context)
         << (mirror ? " device memory that is not allocated (freed while in use?)"
                    : " a device pointer without its host view");
  } else if (mirror) {
    line << "host code " << accessVerb(context) << " the view of device memory that is gone";
  } else {
    line << "host code " << accessVerb(context)
         << " device memory; only kernels and aclrtMemcpy() may";
  }
  line << " at ";
  line.hexadecimal(device_address);
  const uintptr_t offset = device_address - address_space.begin;
  line << (signal == SIGBUS ? " (SIGBUS), device " : ", device ")
       << offset / address_space.per_device << "\n";
  if (const AllocationTrace* trace = findTrace(device_address)) {
    line << "softcann: that is byte " << device_address - trace->begin.load() << " of "
         << (trace->live.load() ? "an allocation of " : "a freed allocation of ")
         << trace->size.load() << " bytes that " << trace->function.load() << "() made for thread "
         << static_cast<uint64_t>(trace->thread.load()) << ", called from ";
    describeCode(reinterpret_cast<uint64_t>(trace->caller.load()), line);
    line << "\n";
  } else {
    line << "softcann: no allocation holds that address\n";
  }
  line.print();
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS};

struct Chained {
  struct sigaction first = {};   // what was there before this library ever came
  struct sigaction latest = {};  // what was there when it last came to the front
  bool installed = false;
};
Chained chained[2];
std::mutex install_mutex;
std::atomic<int> reporting_thread{0};

void onFault(int signal, siginfo_t* info, void* context) noexcept;

bool isOurs(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &onFault;
}

// Whether the signal came from raise() inside another handler, which runs on the alternate stack.
// That is how faulthandler passes a fault on: its handler returns next, and the fault recurs.
bool wasRaisedByHandler(const siginfo_t* info, const void* context) noexcept {
#if defined(__x86_64__)
  if (info->si_code > 0 || info->si_pid != getpid()) return false;
  stack_t stack;
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) != 0) return false;
  const auto* machine = static_cast<const ucontext_t*>(context);
  const auto pointer = static_cast<uintptr_t>(machine->uc_mcontext.gregs[REG_RSP]);
  return pointer - reinterpret_cast<uintptr_t>(stack.ss_sp) < stack.ss_size;
#else
  (void)info;
  (void)context;
  return false;
#endif
}

void chain(const struct sigaction& next, int signal, siginfo_t* info, void* context) noexcept {
  if ((next.sa_flags & SA_SIGINFO) != 0 && next.sa_sigaction != nullptr) {
    next.sa_sigaction(signal, info, context);
    return;
  }
  if (next.sa_handler != SIG_DFL && next.sa_handler != SIG_IGN) {
    next.sa_handler(signal);
    return;
  }
  // The default action: for a fault it comes when the instruction runs again.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
  if (info->si_code <= 0) raise(signal);
}

void onFault(int signal, siginfo_t* info, void* context) noexcept {
  const int saved_errno = errno;
  const Chained& links = chained[signal == SIGSEGV ? 0 : 1];
  const int thread = static_cast<int>(syscall(SYS_gettid));
  if (reporting_thread.load() == thread) {
    // The next handler has passed the signal on, to us.
    chain(links.first, signal, info, context);
  } else if (wasRaisedByHandler(info, context)) {
    // Return to it: the fault recurs, now with its address.
  } else {
    if (info->si_code > 0) {
      reporting_thread.store(thread);
      report(signal, reinterpret_cast<uintptr_t>(info->si_addr), context);
    }
    chain(links.latest, signal, info, context);
    reporting_thread.store(0);
  }
  errno = saved_errno;
}

}  // namespace

void installFaultReport() noexcept {
  std::lock_guard lock(install_mutex);
  for (int i = 0; i < 2; ++i) {
    struct sigaction present;
    if (sigaction(kSignals[i], nullptr, &present) != 0 || isOurs(present)) continue;
    if (!chained[i].installed) chained[i].first = present;
    chained[i].latest = present;
    chained[i].installed = true;
    struct sigaction action = {};
    action.sa_sigaction = &onFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], &action, nullptr);
  }
}

void removeFaultReport() noexcept {
  std::lock_guard lock(install_mutex);
  for (int i = 0; i < 2; ++i) {
    struct sigaction present;
    if (sigaction(kSignals[i], nullptr, &present) != 0 || !isOurs(present)) continue;
    sigaction(kSignals[i], &chained[i].latest, nullptr);
  }
}

}  // namespace softcann
