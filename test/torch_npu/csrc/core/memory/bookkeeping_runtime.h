// An AscendCL without a device, for tests of what is built on it: memory has a capacity, streams
// complete when the test says so, and every call is counted. One per process.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include "torch_npu/csrc/acl/runtime_api.h"

namespace torch_npu::testing {

class BookkeepingRuntime {
 public:
  static constexpr size_t kMiB = size_t{1} << 20;

  // The instance, bound in place of a CANN library at the first call.
  static BookkeepingRuntime& get();

  // How much device memory exists and how much of it is taken.
  std::atomic<size_t> capacity{1024 * kMiB};
  std::atomic<size_t> used{0};

  std::atomic<int> mallocs{0};
  std::atomic<int> frees{0};
  std::atomic<int> maps{0};
  std::atomic<int> unmaps{0};
  std::atomic<int> device_synchronizations{0};
  std::atomic<int> host_mallocs{0};
  std::atomic<int> host_frees{0};

  // Events recorded while this is false stay open until it is true or the device is synchronised.
  std::atomic<bool> streams_complete{true};
  // Called inside aclrtSynchronizeDevice, as a host function at a stream's end would be.
  void (*on_synchronize)() = nullptr;
  // What aclrtSynchronizeDevice returns.
  std::atomic<aclError> synchronize_result{ACL_SUCCESS};

  std::mutex mutex;
  std::map<void*, size_t> allocations;
  std::map<void*, size_t> reservations;
  std::map<void*, void*> mappings;

 private:
  BookkeepingRuntime();
  acl::RuntimeApi table_;
};

}  // namespace torch_npu::testing
