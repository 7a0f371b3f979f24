// Memory of npu tensors that several processes use without copying it.
//
// CANN shares whole allocations, and the caching allocator's tensors are parts of those: what
// travels is the key of a segment and an offset in it. See Note [References across processes] for
// how long the memory lives.
#pragma once

#include <c10/core/Storage.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "torch_npu/csrc/core/ipc/reference_channel.h"
#include "torch_npu/csrc/core/npu_functions.h"

namespace torch_npu::ipc {

// What another process needs to see the bytes of a storage.
struct SharedStorage {
  DeviceIndex device = 0;
  std::string key;    // of the allocation
  size_t size = 0;    // bytes
  size_t offset = 0;  // bytes, in the allocation
  Reference reference;
};

// Waits for the current stream of the storage's device, so that all work submitted before is seen
// by whoever receives it. One call is for one receiver. The storage must have bytes, of the caching
// allocator or of another process. Throws c10::Error.
C10_EXPORT SharedStorage share(const c10::Storage& storage);

// The same memory in the process that received `shared`, in a storage that cannot be resized. At
// the end of its life the storage waits for the streams that use it. Throws c10::Error, which names
// the key, where the memory is gone.
C10_EXPORT c10::Storage receive(const SharedStorage& shared);

// Whether the memory came from another process, and the note that `stream` uses it.
bool isReceived(const c10::DataPtr& data_ptr) noexcept;
void recordStreamOfReceived(const c10::DataPtr& data_ptr, c10::Stream stream);

}  // namespace torch_npu::ipc
