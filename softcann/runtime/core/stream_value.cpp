#include "runtime/core/stream_value.h"

#include <algorithm>
#include <string>

#include "runtime/core/copy.h"
#include "runtime/core/device_memory.h"
#include "runtime/core/message.h"

namespace softcann {
namespace {

constexpr std::chrono::microseconds kValueSpin(20);
constexpr std::chrono::microseconds kShortestNap(20);
constexpr std::chrono::microseconds kLongestNap(1000);

struct ValueTask {
  uint64_t* address;  // in the mirror
  uint64_t value;
  uint32_t condition;

  bool isMet() const noexcept {
    const uint64_t now = std::atomic_ref<uint64_t>(*address).load(std::memory_order_acquire);
    switch (condition) {
      case ACL_STREAM_WAIT_VALUE_GEQ:
        return now >= value;
      case ACL_STREAM_WAIT_VALUE_EQ:
        return now == value;
      case ACL_STREAM_WAIT_VALUE_AND:
        return (now & value) != 0;
      default:
        return ~(now | value) != 0;
    }
  }
};

aclError runWrite(void* payload) noexcept {
  const auto* task = static_cast<ValueTask*>(payload);
  std::atomic_ref<uint64_t>(*task->address).store(task->value, std::memory_order_release);
  return ACL_SUCCESS;
}

// Anybody may write the value (a kernel, a copy, another process), so nobody wakes the waiter:
// it looks again, at growing distances.
aclError runWait(void* payload) noexcept {
  const auto* task = static_cast<ValueTask*>(payload);
  const Stream* stream = Stream::running();
  if (spinUntil(kValueSpin, [&]() noexcept { return task->isMet(); })) return ACL_SUCCESS;
  auto nap = kShortestNap;
  while (!task->isMet() && !stream->isAborting()) {
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, kLongestNap);
  }
  return ACL_SUCCESS;
}

void releaseValue(void* payload) noexcept { delete static_cast<ValueTask*>(payload); }
constexpr TaskType kWriteTask = {"aclrtValueWrite", runWrite, releaseValue};
constexpr TaskType kWaitTask = {"aclrtValueWait", runWait, releaseValue};

aclError checkAddress(const char* function, void* address) {
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0) {
    return fail(ACL_ERROR_MEMORY_ADDRESS_UNALIGNED,
                std::string(function) + ": " + addressText(address) + " is not aligned to 8 bytes");
  }
  if (address != nullptr && DeviceMemory::of(address) == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": " + addressText(address) + " is not device memory");
  }
  return checkFill(function, address, sizeof(uint64_t), sizeof(uint64_t));
}

aclError enqueueValue(const TaskType* type, void* address, uint64_t value, uint32_t condition,
                      Stream* stream) {
  const aclError code = checkAddress(type->name, address);
  if (code != ACL_SUCCESS) return code;
  auto* view = static_cast<uint64_t*>(hostView(address));
  return stream->enqueue(type, new ValueTask{view, value, condition});
}

}  // namespace

aclError writeValue(void* address, uint64_t value, Stream* stream) {
  return enqueueValue(&kWriteTask, address, value, 0, stream);
}

aclError waitValue(void* address, uint64_t value, uint32_t condition, Stream* stream) {
  if (condition > ACL_STREAM_WAIT_VALUE_NOR) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtValueWait: there is no condition " + std::to_string(condition));
  }
  return enqueueValue(&kWaitTask, address, value, condition, stream);
}

}  // namespace softcann
