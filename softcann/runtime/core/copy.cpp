#include "runtime/core/copy.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <thread>

#include "runtime/core/device_memory.h"
#include "runtime/core/host_memory.h"
#include "runtime/core/message.h"
#include "runtime/core/task.h"

namespace softcann {
namespace {

// Pageable sources up to this size travel inside the task; larger ones are waited for.
constexpr size_t kLargestStaged = size_t{64} << 10;

size_t extent(size_t pitch, size_t width, size_t height) noexcept {
  return height == 0 ? 0 : pitch * (height - 1) + width;
}

aclError checkDeviceRange(const char* function, const char* what, const void* pointer,
                          size_t size) {
  DeviceMemory* memory = DeviceMemory::of(pointer);
  if (memory == nullptr) {
    // Registered host memory has device addresses, which are its own.
    if (isPinned(pointer, size)) return ACL_SUCCESS;
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the " + what + " " +
                                             addressText(pointer) + " is not device memory");
  }
  if (memory->covers(pointer, size)) return ACL_SUCCESS;
  const auto range = memory->find(pointer);
  if (!range) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the " + what + " " +
                                             addressText(pointer) + " is not allocated on device " +
                                             std::to_string(memory->device()));
  }
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + std::to_string(size) +
                                           " bytes at the " + what + " " + addressText(pointer) +
                                           " go beyond its allocation of " +
                                           std::to_string(range->size) + " bytes at " +
                                           addressText(reinterpret_cast<void*>(range->begin)));
}

aclError checkHostRange(const char* function, const char* what, const void* pointer) {
  if (DeviceMemory::of(pointer) == nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the " + what + " " +
                                           addressText(pointer) +
                                           " is device memory, but the kind says host memory");
}

aclError inferKind(const char* function, Copy& copy) {
  const bool to_device = DeviceMemory::of(copy.dst) != nullptr;
  const bool from_device = DeviceMemory::of(copy.src) != nullptr;
  switch (copy.kind) {
    case ACL_MEMCPY_DEFAULT:
      copy.kind = to_device
                      ? (from_device ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_HOST_TO_DEVICE)
                      : (from_device ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_HOST);
      return ACL_SUCCESS;
    case ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE:
      copy.kind = ACL_MEMCPY_HOST_TO_DEVICE;
      return ACL_SUCCESS;
    case ACL_MEMCPY_INNER_DEVICE_TO_DEVICE:
    case ACL_MEMCPY_INTER_DEVICE_TO_DEVICE:
      copy.kind = ACL_MEMCPY_DEVICE_TO_DEVICE;
      return ACL_SUCCESS;
    case ACL_MEMCPY_HOST_TO_HOST:
    case ACL_MEMCPY_HOST_TO_DEVICE:
    case ACL_MEMCPY_DEVICE_TO_HOST:
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
      return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": there is no kind of copy " +
                                           std::to_string(static_cast<int>(copy.kind)));
}

bool readsDevice(aclrtMemcpyKind kind) noexcept {
  return kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}
bool writesDevice(aclrtMemcpyKind kind) noexcept {
  return kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}

// A copy task, with the source's bytes behind it if they were staged.
struct CopyTask {
  Copy copy;
  // Of a copy that the caller waits for: it owns the task beside the stream, and whoever claims it
  // first, the stream to copy or the caller to give up, has it.
  bool waited = false;
  std::atomic<int> owners{1};
  std::atomic<bool> claimed{false};
  std::atomic<bool> ended{false};

  bool claim() noexcept { return !claimed.exchange(true); }
  void awaitEnd() const noexcept {
    while (!ended.load()) std::this_thread::yield();
  }
  unsigned char* staged() noexcept { return reinterpret_cast<unsigned char*>(this + 1); }
};

aclError runCopyTask(void* payload) noexcept {
  auto* task = static_cast<CopyTask*>(payload);
  if (task->waited && !task->claim()) return ACL_SUCCESS;
  runCopy(task->copy);
  task->ended.store(true);
  return ACL_SUCCESS;
}
void releaseCopyTask(void* payload) noexcept {
  if (static_cast<CopyTask*>(payload)->owners.fetch_sub(1) == 1) std::free(payload);
}
constexpr TaskType kCopyTask = {"aclrtMemcpyAsync", runCopyTask, releaseCopyTask};

CopyTask* newCopyTask(const Copy& copy, size_t staged_bytes) {
  void* memory = std::malloc(sizeof(CopyTask) + staged_bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return new (memory) CopyTask{copy};
}

CopyTask* stageSource(const Copy& copy) {
  CopyTask* task = newCopyTask(copy, copy.width * copy.height);
  unsigned char* to = task->staged();
  const auto* from = static_cast<const unsigned char*>(copy.src);
  for (size_t row = 0; row < copy.height; ++row) {
    std::memcpy(to + row * copy.width, from + row * copy.src_pitch, copy.width);
  }
  task->copy.src = to;
  task->copy.src_pitch = copy.width;
  return task;
}

struct FillTask {
  void* pointer;
  size_t count;
  int32_t value;
};
aclError runFill(void* payload) noexcept {
  const auto* fill = static_cast<FillTask*>(payload);
  std::memset(hostView(fill->pointer), fill->value, fill->count);
  return ACL_SUCCESS;
}
void releaseFill(void* payload) noexcept { delete static_cast<FillTask*>(payload); }
aclError runPrefetch(void* payload) noexcept {
  const auto* range = static_cast<FillTask*>(payload);
  const auto* bytes = static_cast<const unsigned char*>(hostView(range->pointer));
  for (size_t at = 0; at < range->count; at += 64) __builtin_prefetch(bytes + at);
  return ACL_SUCCESS;
}
constexpr TaskType kPrefetchTask = {"aclrtCmoAsync", runPrefetch, releaseFill};
constexpr TaskType kFillTask = {"aclrtMemsetAsync", runFill, releaseFill};

}  // namespace

aclError checkCopy(const char* function, Copy& copy) {
  if (copy.width == 0 || copy.height == 0) return ACL_SUCCESS;
  if (copy.dst == nullptr || copy.src == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": " + (copy.dst == nullptr ? "dst" : "src") + " is null");
  }
  if (const aclError code = inferKind(function, copy); code != ACL_SUCCESS) return code;
  const size_t dst_size = extent(copy.dst_pitch, copy.width, copy.height);
  const size_t src_size = extent(copy.src_pitch, copy.width, copy.height);
  const aclError code = writesDevice(copy.kind)
                            ? checkDeviceRange(function, "destination", copy.dst, dst_size)
                            : checkHostRange(function, "destination", copy.dst);
  if (code != ACL_SUCCESS) return code;
  return readsDevice(copy.kind) ? checkDeviceRange(function, "source", copy.src, src_size)
                                : checkHostRange(function, "source", copy.src);
}

void runCopy(const Copy& copy) noexcept {
  auto* dst = static_cast<unsigned char*>(hostView(copy.dst));
  const auto* src = static_cast<const unsigned char*>(hostView(copy.src));
  if (copy.dst_pitch == copy.width && copy.src_pitch == copy.width) {
    std::memmove(dst, src, copy.width * copy.height);
    return;
  }
  for (size_t row = 0; row < copy.height; ++row) {
    std::memmove(dst + row * copy.dst_pitch, src + row * copy.src_pitch, copy.width);
  }
}

aclError enqueueCopy(const Copy& copy, Stream* stream) {
  if (copy.width == 0 || copy.height == 0) return ACL_SUCCESS;
  const size_t dst_size = extent(copy.dst_pitch, copy.width, copy.height);
  const size_t src_size = extent(copy.src_pitch, copy.width, copy.height);
  const bool pageable_src = !readsDevice(copy.kind) && !isPinned(copy.src, src_size);
  const bool pageable_dst = !writesDevice(copy.kind) && !isPinned(copy.dst, dst_size);
  const bool stage = pageable_src && copy.width * copy.height <= kLargestStaged;
  CopyTask* task = stage ? stageSource(copy) : newCopyTask(copy, 0);
  const bool wait = (pageable_dst || (pageable_src && !stage)) && Stream::running() != stream;
  if (wait) {
    task->waited = true;
    task->owners.store(2);
  }
  aclError code = stream->enqueue(&kCopyTask, task);
  if (!wait) return code;
  if (code == ACL_SUCCESS) {
    code = stream->synchronize(Deadline::never());
    // Host memory belongs to the caller again on return, whatever ended the wait.
    if (!task->claim()) task->awaitEnd();
  }
  releaseCopyTask(task);
  return code;
}

aclError checkFill(const char* function, void* pointer, size_t room, size_t count) {
  if (count > room) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + std::to_string(count) +
                                             " bytes do not fit into " + std::to_string(room));
  }
  if (count == 0) return ACL_SUCCESS;
  if (pointer == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the pointer is null");
  }
  // As on a card, host memory may be filled too.
  if (DeviceMemory::of(pointer) == nullptr) return ACL_SUCCESS;
  return checkDeviceRange(function, "destination", pointer, count);
}

aclError enqueueFill(void* pointer, int32_t value, size_t count, Stream* stream) {
  if (count == 0) return ACL_SUCCESS;
  return stream->enqueue(&kFillTask, new FillTask{pointer, count, value});
}

aclError enqueuePrefetch(void* pointer, size_t size, Stream* stream) {
  if (size == 0) return ACL_SUCCESS;
  return stream->enqueue(&kPrefetchTask, new FillTask{pointer, size, 0});
}

}  // namespace softcann
