#include "torch_npu/csrc/core/memory/pluggable_allocator.h"

#include <dlfcn.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

namespace {

aclrtStream handleOf(c10::DeviceIndex device, c10::StreamId stream) {
  const c10::Stream wrapped(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, device),
                            stream);
  return NPUStream(wrapped).stream();
}

void* findSymbol(void* handle, const std::string& library, const std::string& name) {
  void* symbol = dlsym(handle, name.c_str());
  TORCH_CHECK(symbol != nullptr, "NPUPluggableAllocator: '", library, "' has no function '", name,
              "'; declare it extern \"C\"");
  return symbol;
}

// A tensor's memory that a stand-in for the caching allocator gave.
struct Allocation {
  std::shared_ptr<const PluggableAllocator> allocator;
  void* pointer;
  size_t size;
  c10::DeviceIndex device;
  c10::StreamId stream;
};

void deleteAllocation(void* context) {
  if (context == nullptr || acl::handlesAbandoned()) {
    return;
  }
  const std::unique_ptr<Allocation> allocation(static_cast<Allocation*>(context));
  allocation->allocator->free(allocation->pointer, allocation->size, allocation->device,
                              allocation->stream);
}

struct PoolAllocators {
  std::mutex mutex;
  std::unordered_map<c10::MempoolId_t, std::shared_ptr<PluggableAllocator>, c10::MempoolIdHash>
      allocators;
};

PoolAllocators& poolAllocators() {
  static auto* allocators = new PoolAllocators;
  return *allocators;
}

std::atomic<PluggableAllocator*> replacement{nullptr};

}  // namespace

std::shared_ptr<PluggableAllocator> PluggableAllocator::load(const std::string& library,
                                                             const std::string& malloc_name,
                                                             const std::string& free_name) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    TORCH_CHECK(false, "NPUPluggableAllocator: the library '", library,
                "' cannot be loaded: ", reason != nullptr ? reason : "unknown reason");
  }
  auto* malloc = reinterpret_cast<Malloc*>(findSymbol(handle, library, malloc_name));
  auto* free = reinterpret_cast<Free*>(findSymbol(handle, library, free_name));
  return std::make_shared<PluggableAllocator>(malloc, free);
}

void* PluggableAllocator::allocate(size_t size, c10::DeviceIndex device,
                                   c10::StreamId stream) const {
  ensureContext(device);
  const aclrtStream handle = handleOf(device, stream);
  try {
    return malloc_(static_cast<ssize_t>(size), device, handle);
  } catch (const std::exception& error) {
    TORCH_WARN("the allocation function of an NPUPluggableAllocator threw: ", error.what());
  } catch (...) {
    TORCH_WARN("the allocation function of an NPUPluggableAllocator threw");
  }
  return nullptr;
}

void PluggableAllocator::free(void* pointer, size_t size, c10::DeviceIndex device,
                              c10::StreamId stream) const noexcept {
  try {
    ensureContext(device);
    free_(pointer, static_cast<ssize_t>(size), device, handleOf(device, stream));
  } catch (const std::exception& error) {
    TORCH_WARN("the release function of an NPUPluggableAllocator threw: ", error.what());
  } catch (...) {
    TORCH_WARN("the release function of an NPUPluggableAllocator threw");
  }
}

c10::DataPtr PluggableAllocator::allocateTensor(size_t size, c10::DeviceIndex device) {
  const c10::Device npu(c10::DeviceType::PrivateUse1, device);
  if (size == 0) {
    return {nullptr, nullptr, &deleteAllocation, npu};
  }
  const c10::StreamId stream = getCurrentNPUStream(device).id();
  void* pointer = allocate(size, device, stream);
  TORCH_CHECK_WITH(OutOfMemoryError, pointer != nullptr,
                   "NPU out of memory: the NPUPluggableAllocator gave no memory for ", size,
                   " bytes on npu:", static_cast<int>(device));
  return {pointer, new Allocation{shared_from_this(), pointer, size, device, stream},
          &deleteAllocation, npu};
}

void setPoolAllocator(c10::MempoolId_t pool, std::shared_ptr<PluggableAllocator> allocator) {
  PoolAllocators& pools = poolAllocators();
  const std::lock_guard guard(pools.mutex);
  if (allocator == nullptr) {
    pools.allocators.erase(pool);
  } else {
    pools.allocators[pool] = std::move(allocator);
  }
}

std::shared_ptr<PluggableAllocator> poolAllocator(c10::MempoolId_t pool) {
  PoolAllocators& pools = poolAllocators();
  const std::lock_guard guard(pools.mutex);
  const auto found = pools.allocators.find(pool);
  return found != pools.allocators.end() ? found->second : nullptr;
}

PluggableAllocator* replacementAllocator() noexcept {
  return replacement.load(std::memory_order_acquire);
}

void setReplacementAllocator(std::shared_ptr<PluggableAllocator> allocator) {
  // Never destroyed: tensors of static lifetime come back late.
  static auto* owner = new std::shared_ptr<PluggableAllocator>;
  *owner = std::move(allocator);
  replacement.store(owner->get(), std::memory_order_release);
}

}  // namespace torch_npu
