// Streams of an NPU as values that can be copied and stored.
//
// A device has its default stream and, per priority, a pool of 32 streams that are created when
// they are first handed out and never destroyed; requests go round the pool. A stream made
// elsewhere can be wrapped; its owner keeps it alive.
//
// A StreamId says which: 0 is the default stream, an odd number is a pool entry (priority level
// and index), any other even number is the aclrtStream handle of an external stream.
#pragma once

#include <c10/core/Stream.h>
#include <c10/util/Exception.h>

#include <functional>
#include <ostream>
#include <utility>

#include "acl/acl.h"
#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu {

inline constexpr int kStreamsPerPool = 32;
inline constexpr int kMaxStreamPriorities = 4;

class C10_EXPORT NPUStream {
 public:
  enum Unchecked { UNCHECKED };

  explicit NPUStream(c10::Stream stream) : stream_(stream) {
    TORCH_CHECK(stream_.device_type() == c10::DeviceType::PrivateUse1,
                "expected a stream of an npu device, but got one of ", stream_.device());
  }
  NPUStream(Unchecked, c10::Stream stream) : stream_(stream) {}

  bool operator==(const NPUStream& other) const noexcept { return stream_ == other.stream_; }
  bool operator!=(const NPUStream& other) const noexcept { return stream_ != other.stream_; }

  operator aclrtStream() const { return stream(); }
  operator c10::Stream() const { return stream_; }

  // The AscendCL handle. Afterwards the calling thread's context is on the stream's device, so
  // that the handle can be used at once.
  aclrtStream stream() const;

  c10::Stream unwrap() const noexcept { return stream_; }
  c10::DeviceType device_type() const noexcept { return c10::DeviceType::PrivateUse1; }
  DeviceIndex device_index() const noexcept { return stream_.device_index(); }
  c10::Device device() const noexcept { return stream_.device(); }
  c10::StreamId id() const noexcept { return stream_.id(); }

  // True if all work enqueued so far has completed.
  bool query() const;
  // Blocks until it has; reports an error that a task of the stream met.
  void synchronize() const;
  // 0, or negative for a higher priority, as in PyTorch.
  int priority() const;
  bool is_capturing() const;

  // {least, greatest} priority in PyTorch's sense: {0, -n}.
  static std::pair<int, int> priority_range();

  c10::StreamData3 pack3() const { return stream_.pack3(); }
  static NPUStream unpack3(c10::StreamId stream_id, DeviceIndex device_index,
                           c10::DeviceType device_type) {
    return NPUStream(c10::Stream::unpack3(stream_id, device_index, device_type));
  }

 private:
  c10::Stream stream_;
};

// A device of -1 means the current device in all of these.

// The calling thread's stream on that device: the default one unless another was set.
C10_EXPORT NPUStream getCurrentNPUStream(DeviceIndex device = -1);
C10_EXPORT NPUStream getDefaultNPUStream(DeviceIndex device = -1);

// The next stream of a pool. A priority outside priority_range() is moved to its nearest end.
C10_EXPORT NPUStream getNPUStreamFromPool(int priority = 0, DeviceIndex device = -1);

// Wraps a stream made elsewhere. A handle of one of our own streams gives that stream, so that the
// allocator and comparisons see one stream under one id.
C10_EXPORT NPUStream getNPUStreamFromExternal(aclrtStream stream, DeviceIndex device = -1);

// Sets the current stream of the stream's own device; the current device stays as it is.
C10_EXPORT void setCurrentNPUStream(NPUStream stream);

C10_EXPORT std::ostream& operator<<(std::ostream& out, const NPUStream& stream);

}  // namespace torch_npu

template <>
struct std::hash<torch_npu::NPUStream> {
  size_t operator()(torch_npu::NPUStream stream) const noexcept {
    return std::hash<c10::Stream>{}(stream.unwrap());
  }
};
