#include "runtime/core/indirect_copy.h"

#include <cstring>
#include <string>

#include "runtime/core/copy.h"
#include "runtime/core/device_memory.h"
#include "runtime/core/error_state.h"
#include "runtime/core/message.h"
#include "runtime/core/process.h"

namespace softcann {
namespace {

constexpr const char* kDescribed = "aclrtMemcpyAsyncWithDesc";
constexpr const char* kOffset = "aclrtMemcpyAsyncWithOffset";

aclError checkDevice(const char* function, const char* what, const void* pointer, size_t size) {
  if (pointer == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + what + " is null");
  }
  DeviceMemory* memory = DeviceMemory::of(pointer);
  if (memory != nullptr && memory->covers(pointer, size)) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the " + std::to_string(size) +
                                           " bytes of " + what + " at " + addressText(pointer) +
                                           " are not allocated device memory");
}

// In the stream, where the addresses are known at last.
aclError copyNow(const char* function, void* dst, const void* src, size_t count) noexcept {
  const aclError code = guarded([&]() -> aclError {
    Copy copy = Copy::flat(dst, src, count, ACL_MEMCPY_DEVICE_TO_DEVICE);
    if (const aclError bad = checkCopy(function, copy); bad != ACL_SUCCESS) return bad;
    runCopy(copy);
    return ACL_SUCCESS;
  });
  if (code != ACL_SUCCESS) {
    const char* text = takeErrorMessage();
    setTaskError(text == nullptr ? "" : text);
  }
  return code;
}

template <class Value>
Value load(const void* pointer) noexcept {
  Value value;
  std::memcpy(&value, hostView(pointer), sizeof(value));
  return value;
}

aclError runDescribed(void* payload) noexcept {
  const auto descriptor = load<CopyDescriptor>(*static_cast<void**>(payload));
  if (descriptor.magic != CopyDescriptor::kMagic) {
    setTaskError("the memory holds no descriptor; call aclrtSetMemcpyDesc() first");
    return ACL_ERROR_INVALID_PARAM;
  }
  return copyNow(kDescribed, descriptor.dst, descriptor.src, descriptor.count);
}
void releaseDescribed(void* payload) noexcept { delete static_cast<void**>(payload); }
constexpr TaskType kDescribedTask = {kDescribed, runDescribed, releaseDescribed};

aclError runOffset(void* payload) noexcept {
  const auto* task = static_cast<OffsetCopy*>(payload);
  return copyNow(kOffset, load<unsigned char*>(task->dst) + task->dst_offset,
                 load<const unsigned char*>(task->src) + task->src_offset, task->count);
}
void releaseOffset(void* payload) noexcept { delete static_cast<OffsetCopy*>(payload); }
constexpr TaskType kOffsetTask = {kOffset, runOffset, releaseOffset};

}  // namespace

aclError writeCopyDescriptor(void* descriptor, void* dst, const void* src, size_t count) {
  constexpr const char* kName = "aclrtSetMemcpyDesc";
  aclError code = checkDevice(kName, "desc", descriptor, sizeof(CopyDescriptor));
  if (code == ACL_SUCCESS) code = checkDevice(kName, "dstAddr", dst, count);
  if (code == ACL_SUCCESS) code = checkDevice(kName, "srcAddr", src, count);
  if (code != ACL_SUCCESS) return code;
  const CopyDescriptor written = {CopyDescriptor::kMagic, dst, src, count};
  std::memcpy(hostView(descriptor), &written, sizeof(written));
  return ACL_SUCCESS;
}

aclError enqueueDescribedCopy(void* descriptor, Stream* stream) {
  const aclError code = checkDevice(kDescribed, "desc", descriptor, sizeof(CopyDescriptor));
  return code != ACL_SUCCESS ? code : stream->enqueue(&kDescribedTask, new void*(descriptor));
}

aclError enqueueOffsetCopy(const OffsetCopy& copy, Stream* stream) {
  aclError code = checkDevice(kOffset, "dst", copy.dst, sizeof(void*));
  if (code == ACL_SUCCESS) code = checkDevice(kOffset, "src", copy.src, sizeof(void*));
  if (code != ACL_SUCCESS) return code;
  if (copy.dst_offset > copy.room || copy.count > copy.room - copy.dst_offset) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(kOffset) + ": " + std::to_string(copy.count) +
                                             " bytes behind " + std::to_string(copy.dst_offset) +
                                             " do not fit into destMax, " +
                                             std::to_string(copy.room));
  }
  return stream->enqueue(&kOffsetTask, new OffsetCopy(copy));
}

}  // namespace softcann
