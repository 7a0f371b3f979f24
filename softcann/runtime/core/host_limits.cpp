#include "runtime/core/host_limits.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace softcann {
namespace {

std::string readFile(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  for (ssize_t n; (n = read(fd, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

// The number after `key` in `text`; SIZE_MAX if there is none (such as "max").
size_t numberAfter(std::string_view text, std::string_view key) {
  size_t at = text.find(key);
  if (at == std::string_view::npos) return SIZE_MAX;
  at = text.find_first_not_of(" \t", at + key.size());
  if (at == std::string_view::npos) return SIZE_MAX;
  size_t value = SIZE_MAX;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

// Room below one control group's limit. Page cache that the kernel can drop counts as room.
size_t groupRoom(const std::string& folder, const char* limit_file, const char* usage_file,
                 std::string_view reclaimable_key) {
  const size_t limit = numberAfter(readFile(folder + limit_file), "");
  const size_t usage = numberAfter(readFile(folder + usage_file), "");
  if (limit == SIZE_MAX || usage == SIZE_MAX) return SIZE_MAX;
  size_t reclaimable = numberAfter(readFile(folder + "/memory.stat"), reclaimable_key);
  if (reclaimable == SIZE_MAX) reclaimable = 0;
  const size_t used = usage - std::min(usage, reclaimable);
  return limit - std::min(limit, used);
}

// The least room over the process's control group and all groups around it.
size_t controlGroupRoom() {
  const std::string groups = readFile("/proc/self/cgroup");
  size_t room = SIZE_MAX;
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const bool unified = line.starts_with("0::");
    const size_t memory = line.find(":memory:");
    if (!unified && memory == std::string_view::npos) continue;
    std::string path(unified ? line.substr(3) : line.substr(memory + 8));
    const std::string root = unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    for (;;) {
      const size_t here =
          unified ? groupRoom(root + path, "/memory.max", "/memory.current", "inactive_file ")
                  : groupRoom(root + path, "/memory.limit_in_bytes", "/memory.usage_in_bytes",
                              "total_inactive_file ");
      room = std::min(room, here);
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/'));
    }
  }
  return room;
}

size_t kibibytes(std::string_view text, std::string_view key) {
  const size_t value = numberAfter(text, key);
  return value == SIZE_MAX ? SIZE_MAX : value << 10;
}

// What the last look at the kernel's figures left to give; valid for a short time.
struct Headroom {
  std::mutex mutex;
  std::chrono::steady_clock::time_point valid_until;
  size_t bytes = 0;
};

Headroom& headroom() {
  static auto* headroom = new Headroom;
  return *headroom;
}

}  // namespace

size_t availableHostMemory() noexcept {
  try {
    return std::min(kibibytes(readFile("/proc/meminfo"), "MemAvailable:"), controlGroupRoom());
  } catch (...) {
    return SIZE_MAX;
  }
}

bool hostHasRoom(size_t size, size_t promised, size_t* available) noexcept {
  Headroom& known = headroom();
  std::lock_guard lock(known.mutex);
  const auto now = std::chrono::steady_clock::now();
  if (now < known.valid_until && size <= known.bytes) {
    known.bytes -= size;
    return true;
  }
  size_t room = availableHostMemory();
  *available = room;
  if (room != SIZE_MAX) {
    // Promised pages that have been touched are missing from `room` already.
    size_t touched = SIZE_MAX;
    try {
      touched = kibibytes(readFile("/proc/self/status"), "RssShmem:");
    } catch (...) {
      // Unknown: as if all had been touched.
    }
    const size_t untouched = promised - std::min(promised, touched);
    room -= std::min(room, untouched);
  }
  if (size > room) {
    known.valid_until = {};
    return false;
  }
  known.bytes = room - size;
  known.valid_until = now + std::chrono::milliseconds(100);
  return true;
}

}  // namespace softcann
