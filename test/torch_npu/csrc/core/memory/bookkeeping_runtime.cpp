#include "bookkeeping_runtime.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace torch_npu::testing {

namespace {

constexpr aclError kOutOfMemory = 207001;
constexpr aclError kInvalid = ACL_ERROR_INVALID_PARAM;

struct Event {
  bool complete = true;
};

BookkeepingRuntime& fake() { return BookkeepingRuntime::get(); }

bool take(size_t size) {
  size_t used = fake().used.load();
  do {
    if (used + size > fake().capacity) {
      return false;
    }
  } while (!fake().used.compare_exchange_weak(used, used + size));
  return true;
}

aclError mallocDevice(void** pointer, size_t size, aclrtMemMallocPolicy) {
  if (!take(size)) {
    return kOutOfMemory;
  }
  *pointer = std::aligned_alloc(4096, size);
  std::lock_guard<std::mutex> guard(fake().mutex);
  fake().allocations[*pointer] = size;
  ++fake().mallocs;
  return ACL_SUCCESS;
}

aclError freeDevice(void* pointer) {
  std::lock_guard<std::mutex> guard(fake().mutex);
  const auto found = fake().allocations.find(pointer);
  if (found == fake().allocations.end()) {
    return kInvalid;
  }
  fake().used -= found->second;
  fake().allocations.erase(found);
  std::free(pointer);
  ++fake().frees;
  return ACL_SUCCESS;
}

aclError reserve(void** pointer, size_t size, size_t, void*, uint64_t) {
  *pointer = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (*pointer == MAP_FAILED) {
    return kOutOfMemory;
  }
  std::lock_guard<std::mutex> guard(fake().mutex);
  fake().reservations[*pointer] = size;
  return ACL_SUCCESS;
}

aclError release(void* pointer) {
  std::lock_guard<std::mutex> guard(fake().mutex);
  const auto found = fake().reservations.find(pointer);
  if (found == fake().reservations.end()) {
    return kInvalid;
  }
  munmap(pointer, found->second);
  fake().reservations.erase(found);
  return ACL_SUCCESS;
}

aclError mallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp*,
                        uint64_t) {
  if (!take(size)) {
    return kOutOfMemory;
  }
  *handle = reinterpret_cast<aclrtDrvMemHandle>(new size_t(size));
  return ACL_SUCCESS;
}

aclError freePhysical(aclrtDrvMemHandle handle) {
  auto* size = reinterpret_cast<size_t*>(handle);
  fake().used -= *size;
  delete size;
  return ACL_SUCCESS;
}

aclError mapMemory(void* pointer, size_t size, size_t, aclrtDrvMemHandle handle, uint64_t) {
  std::lock_guard<std::mutex> guard(fake().mutex);
  if (!fake().mappings.emplace(pointer, handle).second) {
    return kInvalid;
  }
  mprotect(pointer, size, PROT_READ | PROT_WRITE);
  ++fake().maps;
  return ACL_SUCCESS;
}

aclError unmapMemory(void* pointer) {
  std::lock_guard<std::mutex> guard(fake().mutex);
  const auto found = fake().mappings.find(pointer);
  if (found == fake().mappings.end()) {
    return kInvalid;
  }
  mprotect(pointer, *reinterpret_cast<size_t*>(found->second), PROT_NONE);
  fake().mappings.erase(found);
  ++fake().unmaps;
  return ACL_SUCCESS;
}

aclError synchronizeDevice() {
  ++fake().device_synchronizations;
  if (fake().on_synchronize != nullptr) {
    fake().on_synchronize();
  }
  return fake().synchronize_result;
}

aclError createEvent(aclrtEvent* event, uint32_t) {
  *event = reinterpret_cast<aclrtEvent>(new Event);
  return ACL_SUCCESS;
}

aclError destroyEvent(aclrtEvent event) {
  delete reinterpret_cast<Event*>(event);
  return ACL_SUCCESS;
}

aclError recordEvent(aclrtEvent event, aclrtStream) {
  reinterpret_cast<Event*>(event)->complete = fake().streams_complete;
  return ACL_SUCCESS;
}

aclError queryEvent(aclrtEvent event, aclrtEventRecordedStatus* status) {
  auto* state = reinterpret_cast<Event*>(event);
  state->complete = state->complete || fake().streams_complete;
  *status =
      state->complete ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError synchronizeEvent(aclrtEvent event) {
  reinterpret_cast<Event*>(event)->complete = true;
  return ACL_SUCCESS;
}

aclError memoryInfo(aclrtMemAttr, size_t* free, size_t* total) {
  *total = fake().capacity;
  *free = *total - fake().used;
  return ACL_SUCCESS;
}

aclError createStream(aclrtStream* stream, uint32_t, uint32_t) {
  *stream = reinterpret_cast<aclrtStream>(new Event);
  return ACL_SUCCESS;
}

aclError mallocHost(void** pointer, size_t size) {
  *pointer = std::aligned_alloc(64, (size + 63) / 64 * 64);
  ++fake().host_mallocs;
  return ACL_SUCCESS;
}

aclError freeHost(void* pointer) {
  std::free(pointer);
  ++fake().host_frees;
  return ACL_SUCCESS;
}

}  // namespace

BookkeepingRuntime::BookkeepingRuntime() {
  table_.aclInit = [](const char*) { return aclError{ACL_SUCCESS}; };
  table_.aclGetRecentErrMsg = []() -> const char* { return "the device is full"; };
  table_.aclrtSetDevice = [](int32_t) { return aclError{ACL_SUCCESS}; };
  table_.aclrtGetDeviceCount = [](uint32_t* count) {
    *count = 2;
    return aclError{ACL_SUCCESS};
  };
  table_.aclrtMalloc = mallocDevice;
  table_.aclrtFree = freeDevice;
  table_.aclrtReserveMemAddress = reserve;
  table_.aclrtReleaseMemAddress = release;
  table_.aclrtMallocPhysical = mallocPhysical;
  table_.aclrtFreePhysical = freePhysical;
  table_.aclrtMapMem = mapMemory;
  table_.aclrtUnmapMem = unmapMemory;
  table_.aclrtSynchronizeDevice = synchronizeDevice;
  table_.aclrtCreateEventWithFlag = createEvent;
  table_.aclrtDestroyEvent = destroyEvent;
  table_.aclrtRecordEvent = recordEvent;
  table_.aclrtQueryEventStatus = queryEvent;
  table_.aclrtSynchronizeEvent = synchronizeEvent;
  table_.aclrtGetMemInfo = memoryInfo;
  table_.aclrtCreateStreamWithConfig = createStream;
  table_.aclrtMallocHost = mallocHost;
  table_.aclrtFreeHost = freeHost;
}

BookkeepingRuntime& BookkeepingRuntime::get() {
  static BookkeepingRuntime* fake_runtime = [] {
    auto* created = new BookkeepingRuntime;
    acl::bindForTesting(&created->table_);
    return created;
  }();
  return *fake_runtime;
}

}  // namespace torch_npu::testing
