#include "torch_npu/csrc/core/ipc/shared_storage.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/handles.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu::ipc {

namespace {

// An allocation of another process, for as long as a storage here uses a part of it.
class ImportedAllocation {
 public:
  // On the current device.
  static std::shared_ptr<ImportedAllocation> of(const std::string& key);

  explicit ImportedAllocation(std::string key) : key_(std::move(key)) {
    const acl::RuntimeApi& api = acl::api();
    TORCH_CHECK_NOT_IMPLEMENTED(
        api.aclrtIpcMemImportByKey != nullptr && api.aclrtIpcMemClose != nullptr,
        "this CANN lacks aclrtIpcMemImportByKey: send tensors through host memory");
    ensureContext(currentDevice());
    NPU_CHECK(api.aclrtIpcMemImportByKey(&base_, key_.c_str(),
                                         ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS));
  }
  ~ImportedAllocation() {
    // A runtime that has ended has closed it.
    if (!acl::handlesAbandoned()) (void)acl::api().aclrtIpcMemClose(key_.c_str());
  }

  char* base() const noexcept { return static_cast<char*>(base_); }
  // By which a third process can import it.
  std::string onwardKey();

 private:
  std::string key_;
  void* base_ = nullptr;
  std::mutex mutex_;
  std::string onward_key_;
};

std::string ImportedAllocation::onwardKey() {
  std::lock_guard<std::mutex> guard(mutex_);
  if (onward_key_.empty()) {
    const acl::RuntimeApi& api = acl::api();
    TORCH_CHECK_NOT_IMPLEMENTED(api.aclrtMemGetAddressRange != nullptr,
                                "this CANN lacks aclrtMemGetAddressRange: clone() a tensor that "
                                "came from another process before sending it on");
    void* begin = nullptr;
    size_t size = 0;
    NPU_CHECK(api.aclrtMemGetAddressRange(base_, &begin, &size));
    onward_key_ = Segment::exportKeyOf(base_, size);
  }
  return onward_key_;
}

std::shared_ptr<ImportedAllocation> ImportedAllocation::of(const std::string& key) {
  using Place = std::pair<DeviceIndex, std::string>;
  static auto* mutex = new std::mutex;
  static auto* imports = new std::map<Place, std::weak_ptr<ImportedAllocation>>;
  std::lock_guard<std::mutex> guard(*mutex);
  const Place place{currentDevice(), key};
  if (const auto known = imports->find(place); known != imports->end()) {
    if (auto import = known->second.lock()) return import;
  }
  std::erase_if(*imports, [](const auto& entry) { return entry.second.expired(); });
  auto import = std::make_shared<ImportedAllocation>(key);
  (*imports)[place] = import;
  return import;
}

// The bytes behind one received storage. Members are destroyed in reverse order: the owner hears
// that the memory is released after it is no longer mapped here.
struct ReceivedMemory {
  std::unique_ptr<Claim> claim;
  std::shared_ptr<ImportedAllocation> allocation;  // null for memory of this process
  std::string key;
  size_t offset = 0;
  DeviceIndex device = 0;
  std::vector<c10::Stream> streams;  // other than the current one that use it

  void awaitStreams() noexcept;
};

// The streams' failures are left for those who synchronise with them.
void ReceivedMemory::awaitStreams() noexcept {
  try {
    // Whatever was submitted last may read or write the memory.
    streams.push_back(getCurrentNPUStream(device).unwrap());
    for (const c10::Stream& stream : streams) {
      const NPUGuard guard(stream.device());
      const aclrtStream handle = NPUStream(stream).stream();
      const acl::UniqueEvent event = acl::createEvent(ACL_EVENT_SYNC);
      if (acl::api().aclrtRecordEvent(event.get(), handle) == ACL_SUCCESS) {
        (void)acl::api().aclrtSynchronizeEvent(event.get());
      }
    }
  } catch (const std::exception&) {
    // The runtime has ended, and its streams with it.
  }
}

using Owned = std::shared_ptr<ReceivedMemory>;

void deleteReceived(void* context) {
  std::unique_ptr<Owned> memory(static_cast<Owned*>(context));
  if (acl::handlesAbandoned()) {
    (void)memory.release();  // the parent's
    return;
  }
  (*memory)->awaitStreams();
}

const Owned& receivedMemory(const c10::DataPtr& data_ptr) {
  return *static_cast<const Owned*>(data_ptr.get_context());
}

// The allocation that a storage's bytes are in, and what keeps them.
struct Part {
  std::string key;
  size_t offset = 0;
  std::shared_ptr<void> kept;
};

Part partOf(const c10::DataPtr& data_ptr) {
  if (isReceived(data_ptr)) {
    const Owned& memory = receivedMemory(data_ptr);
    const bool foreign = memory->allocation != nullptr;
    return {foreign ? memory->allocation->onwardKey() : memory->key, memory->offset, memory};
  }
  TORCH_CHECK(data_ptr.get_context() != nullptr && cachingAllocator()->is_simple_data_ptr(data_ptr),
              "the memory at ", data_ptr.get(),
              " is not from the npu caching allocator, so it cannot be sent to another process: "
              "clone() the tensor first");
  auto* block = static_cast<Block*>(data_ptr.get_context());
  Part part{block->segment->exportKey(), block->segment->offsetOf(data_ptr.get()), nullptr};
  block->owner->retain(block);
  part.kept = std::shared_ptr<void>(block, [](void* kept) {
    if (acl::handlesAbandoned()) return;
    auto* kept_block = static_cast<Block*>(kept);
    kept_block->owner->free(kept_block);
  });
  return part;
}

}  // namespace

SharedStorage share(const c10::Storage& storage) {
  const c10::DataPtr& data_ptr = storage.data_ptr();
  TORCH_CHECK(storage.device_type() == c10::DeviceType::PrivateUse1 && data_ptr.get() != nullptr,
              "only storages with bytes on an npu device can be shared here, not one of ",
              storage.nbytes(), " bytes on ", storage.device());
  const NPUGuard guard(storage.device());
  getCurrentNPUStream(storage.device().index()).synchronize();
  Part part = partOf(data_ptr);
  SharedStorage shared;
  shared.device = storage.device().index();
  shared.key = std::move(part.key);
  shared.size = storage.nbytes();
  shared.offset = part.offset;
  shared.reference = keepForReceiver(std::move(part.kept));
  return shared;
}

c10::Storage receive(const SharedStorage& shared) {
  lazyInit();
  checkDeviceIndex(shared.device);
  const c10::Device device(c10::DeviceType::PrivateUse1, shared.device);
  const NPUGuard guard(device);
  auto memory = std::make_shared<ReceivedMemory>();
  memory->key = shared.key;
  memory->offset = shared.offset;
  memory->device = shared.device;
  char* base = Segment::baseOfExport(shared.key);
  if (base == nullptr) {
    memory->allocation = ImportedAllocation::of(shared.key);
    base = memory->allocation->base();
  }
  // From here on the owner may end.
  memory->claim = std::make_unique<Claim>(shared.reference);
  c10::DataPtr data_ptr(base + shared.offset, new Owned(std::move(memory)), &deleteReceived,
                        device);
  return c10::Storage(c10::Storage::use_byte_size_t(), shared.size, std::move(data_ptr),
                      /*allocator=*/nullptr, /*resizable=*/false);
}

bool isReceived(const c10::DataPtr& data_ptr) noexcept {
  return data_ptr.get_deleter() == &deleteReceived;
}

void recordStreamOfReceived(const c10::DataPtr& data_ptr, c10::Stream stream) {
  receivedMemory(data_ptr)->streams.push_back(stream);
}

}  // namespace torch_npu::ipc
