#include "runtime/core/reduce.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "runtime/core/copy.h"
#include "runtime/core/device.h"
#include "runtime/core/message.h"

namespace softcann {
namespace {

// Numbers that C++ cannot compute with, which are computed with as floats.
struct Half {
  uint16_t bits;
  static float load(Half value) noexcept { return aclFloat16ToFloat(value.bits); }
  static Half store(float value) noexcept { return {aclFloatToFloat16(value)}; }
};

struct BFloat {
  uint16_t bits;
  static float load(BFloat value) noexcept {
    return std::bit_cast<float>(static_cast<uint32_t>(value.bits) << 16);
  }
  // Rounds to nearest, ties to even.
  static BFloat store(float value) noexcept {
    const auto bits = std::bit_cast<uint32_t>(value);
    if (std::isnan(value)) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
    return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
  }
};

template <class T>
T sum(T a, T b) noexcept {
  // Integers wrap around.
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(
        static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  } else {
    return a + b;
  }
}

// A NaN wins.
template <class T, bool kLarger>
T extreme(T a, T b) noexcept {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  }
  return (kLarger ? a < b : b < a) ? b : a;
}

template <class T>
T reduced(aclrtReduceKind kind, T a, T b) noexcept {
  switch (kind) {
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX:
      return extreme<T, true>(a, b);
    case ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN:
      return extreme<T, false>(a, b);
    default:
      return sum(a, b);
  }
}

template <class T>
void reduceAll(aclrtReduceKind kind, void* dst, const void* src, size_t bytes) noexcept {
  auto* to = static_cast<unsigned char*>(dst);
  const auto* from = static_cast<const unsigned char*>(src);
  for (size_t at = 0; at < bytes; at += sizeof(T)) {
    T a;
    T b;
    std::memcpy(&a, to + at, sizeof(T));
    std::memcpy(&b, from + at, sizeof(T));
    if constexpr (std::is_arithmetic_v<T>) {
      a = reduced(kind, a, b);
    } else {
      a = T::store(reduced(kind, T::load(a), T::load(b)));
    }
    std::memcpy(to + at, &a, sizeof(T));
  }
}

using Reduction = void (*)(aclrtReduceKind, void*, const void*, size_t) noexcept;

Reduction reductionOf(aclDataType type) noexcept {
  switch (type) {
    case ACL_INT8:
      return reduceAll<int8_t>;
    case ACL_INT16:
      return reduceAll<int16_t>;
    case ACL_INT32:
      return reduceAll<int32_t>;
    case ACL_UINT32:
      return reduceAll<uint32_t>;
    case ACL_FLOAT:
      return reduceAll<float>;
    case ACL_FLOAT16:
      return reduceAll<Half>;
    case ACL_BF16:
      return reduceAll<BFloat>;
    default:
      return nullptr;
  }
}

struct ReduceTask {
  Reduction reduction;
  aclrtReduceKind kind;
  void* dst;  // in the mirror
  const void* src;
  size_t bytes;
};

aclError runReduce(void* payload) noexcept {
  const auto* task = static_cast<ReduceTask*>(payload);
  task->reduction(task->kind, task->dst, task->src, task->bytes);
  return ACL_SUCCESS;
}
void releaseReduce(void* payload) noexcept { delete static_cast<ReduceTask*>(payload); }
constexpr const char* kName = "aclrtReduceAsync";
constexpr TaskType kReduceTask = {kName, runReduce, releaseReduce};

aclError bad(const std::string& text) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(kName) + ": " + text);
}

}  // namespace

aclError enqueueReduction(void* dst, const void* src, size_t bytes, aclrtReduceKind kind,
                          aclDataType type, Stream* stream) {
  if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                std::string(kName) +
                    ": ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL is not supported by "
                    "softcann; use aclnnEqTensor()");
  }
  if (kind < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || kind > ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
    return bad("there is no kind " + std::to_string(kind));
  }
  const Reduction reduction = reductionOf(type);
  if (reduction == nullptr) {
    return bad("the data type " + std::to_string(type) +
               " is not supported; use int8, int16, int32, uint32, float16, float32 or bfloat16");
  }
  if (bytes == 0) return bad("count is 0");
  if (bytes % aclDataTypeSize(type) != 0) {
    return bad("count, in bytes, must be a multiple of " + std::to_string(aclDataTypeSize(type)) +
               ", not " + std::to_string(bytes));
  }
  Copy range = Copy::flat(dst, src, bytes, ACL_MEMCPY_DEVICE_TO_DEVICE);
  if (const aclError code = checkCopy(kName, range); code != ACL_SUCCESS) return code;
  for (const void* pointer : {static_cast<const void*>(dst), src}) {
    const DeviceMemory* memory = DeviceMemory::of(pointer);
    if (memory == nullptr || memory->device() == stream->device()->id()) continue;
    return bad(addressText(pointer) + " lies on device " + std::to_string(memory->device()) +
               ", and the stream is of device " + std::to_string(stream->device()->id()) +
               "; copy it there first");
  }
  const auto to = reinterpret_cast<uintptr_t>(dst);
  const auto from = reinterpret_cast<uintptr_t>(src);
  if (to != from && to - from + bytes - 1 < 2 * bytes - 1) {
    return bad("dst and src overlap without being the same");
  }
  return stream->enqueue(&kReduceTask,
                         new ReduceTask{reduction, kind, hostView(dst), hostView(src), bytes});
}

}  // namespace softcann
