// What this process shares with other processes of the same user: memory, events and notifies.
//
// Note [Sharing with other processes]: an export has a key, a text that names the process and a
// number. The first export starts a thread that answers on an abstract Unix socket: it hands the
// descriptor of the memory to a peer whose user is ours and whose process the export admits. An
// abstract name is no file and goes with its process, however that ends, and so does what was not
// imported; an importer has a mapping of its own, which outlives the exporter. Every exchange has a
// time limit, so that a stopped peer costs an error and not a hang.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl_base.h"

namespace softcann {

enum class IpcKind : uint32_t { kMemory = 1, kEvent = 2, kNotify = 3 };

struct IpcExport {
  IpcKind kind = IpcKind::kMemory;
  int fd = -1;  // a duplicate is kept
  size_t offset = 0;
  size_t size = 0;
  bool admits_all = true;  // all processes of the user; else those of admitProcesses()
  uintptr_t address = 0;   // of memory: where it is in this process
};

// The longest key, with its terminating zero.
constexpr size_t kIpcKeySize = 64;

aclError publishExport(const IpcExport& shared, std::string* key);
// False: this process has no such export.
bool withdrawExport(const std::string& key) noexcept;
// Those of memory within the range.
void withdrawExportsOf(uintptr_t begin, size_t size) noexcept;
aclError admitProcesses(const char* function, const std::string& key, const int32_t* pids,
                        size_t count);

struct IpcImport {
  int fd = -1;  // the caller's
  size_t offset = 0;
  size_t size = 0;
};
// Asks the process that made the key. An error names the key and says why.
aclError fetchExport(const char* function, IpcKind kind, const std::string& key, IpcImport* import);

// Whether the text has the form of a key of that kind, and whether this process made it.
bool isIpcKey(IpcKind kind, const std::string& key) noexcept;
bool isOwnIpcKey(const std::string& key) noexcept;

// In a forked child: the socket is the parent's. Async-signal-safe.
void closeIpcServiceInChild() noexcept;

}  // namespace softcann
