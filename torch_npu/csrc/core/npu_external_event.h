// A flag in device memory that streams set, wait for and clear: torch.npu.ExternalEvent.
#pragma once

#include <c10/core/Allocator.h>

#include <mutex>

#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

// Unlike an NPUEvent, whose wait covers the records made before it, a wait for this one lasts until
// the flag is set, whenever that is; so one can be part of a graph and what it waits for outside of
// it. The flag is made, cleared, on the device of the first stream; streams of other devices are
// refused. Needs aclrtValueWrite() and aclrtValueWait(). Thread-safe.
class C10_EXPORT NPUExternalEvent {
 public:
  // Sets the flag after what the stream has now.
  void record(const NPUStream& stream);
  // Makes later work of the stream wait until the flag is set; leaves it set.
  void wait(const NPUStream& stream);
  // Clears the flag after what the stream has now.
  void reset(const NPUStream& stream);

  // Null before the first use.
  const void* flag() const;

 private:
  void write(const NPUStream& stream, uint64_t value);
  void* flagFor(const NPUStream& stream);

  mutable std::mutex mutex_;
  c10::DataPtr flag_;
};

}  // namespace torch_npu
