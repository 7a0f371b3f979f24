#include "runtime/core/device.h"

#include <algorithm>
#include <string>

#include "runtime/core/callback.h"
#include "runtime/core/fault.h"
#include "runtime/core/operator_allocator.h"
#include "runtime/core/platform.h"
#include "runtime/core/process_registry.h"
#include "runtime/core/registered_callbacks.h"

namespace softcann {

// Note [Walking streams]: synchronising a device waits outside its lock, so that other threads
// can go on creating streams. Meanwhile walkers_ > 0, and closeStream() waits for 0 between
// taking a stream out of the list and recycling it.

std::vector<Device*>& Device::all() noexcept {
  static auto* devices = new std::vector<Device*>;
  return *devices;
}

Device* Device::find(int64_t id, aclError& code) noexcept {
  const auto& devices = all();
  if (id >= 0 && id < static_cast<int64_t>(devices.size())) {
    code = ACL_SUCCESS;
    return devices[static_cast<size_t>(id)];
  }
  code = fail(ACL_ERROR_RT_INVALID_DEVICEID, "there is no device " + std::to_string(id) + ": " +
                                                 std::to_string(devices.size()) +
                                                 " devices are visible");
  return nullptr;
}

Device::Device(int id, int physical_id)
    : id_(id), physical_id_(physical_id), memory_(id), primary_context_(this) {
  for (int type = 0; type < 2; ++type) core_limit[type] = static_cast<uint32_t>(coreCount(type));
}

int Device::coreCount(int type) const noexcept {
  const SocSpec& soc = *platform()->soc;
  return type == ACL_RT_DEV_RES_CUBE_CORE ? soc.cube_cores : soc.vector_cores;
}

aclError Device::open() noexcept {
  if (uses_.load(std::memory_order_relaxed) > 0) {
    uses_.fetch_add(1, std::memory_order_relaxed);
    return ACL_SUCCESS;
  }
  std::lock_guard lock(open_mutex_);
  if (uses_.load() == 0) {
    notifyDeviceState(id_, ACL_RT_DEVICE_STATE_SET_PRE);
    installFaultReport();
    registerDevice(physical_id_);
    primary_context_.activate();
    uses_.fetch_add(1);
    notifyDeviceState(id_, ACL_RT_DEVICE_STATE_SET_POST);
    return ACL_SUCCESS;
  }
  uses_.fetch_add(1);
  return ACL_SUCCESS;
}

aclError Device::close(bool force, bool all_uses) noexcept {
  std::lock_guard lock(open_mutex_);
  if (uses_.load() == 0) {
    return fail(ACL_ERROR_RT_CONTEXT_NULL,
                "device " + std::to_string(id_) + " is not in use: nothing to reset");
  }
  if (!all_uses && uses_.load() > 1) {
    uses_.fetch_sub(1);
    return ACL_SUCCESS;
  }
  notifyDeviceState(id_, ACL_RT_DEVICE_STATE_RESET_PRE);
  const aclError code = force ? ACL_SUCCESS : synchronize(Deadline::never());
  std::vector<Context*> contexts;
  {
    std::lock_guard list_lock(mutex_);
    contexts.swap(contexts_);
  }
  for (Context* context : contexts) context->close(force);
  primary_context_.close(force);
  for (;;) {
    Stream* stream = nullptr;
    {
      std::lock_guard list_lock(mutex_);
      if (streams_.empty()) break;
      stream = streams_.back();
    }
    closeStream(stream, force);
  }
  memory_.releaseAll();
  unregisterDevice(physical_id_);
  for (int type = 0; type < 2; ++type) core_limit[type] = static_cast<uint32_t>(coreCount(type));
  enabled_peers.store(0);
  uses_.store(0);
  notifyDeviceState(id_, ACL_RT_DEVICE_STATE_RESET_POST);
  return code;
}

void Device::addContext(Context* context) {
  std::lock_guard lock(mutex_);
  contexts_.push_back(context);
}

void Device::removeContext(Context* context) noexcept {
  std::lock_guard lock(mutex_);
  std::erase(contexts_, context);
}

Stream* Device::openStream(Context* context, uint32_t priority, uint32_t flags) {
  Stream* stream = Stream::open(context, priority, flags);
  {
    std::lock_guard lock(mutex_);
    streams_.push_back(stream);
  }
  notifyStreamState(stream, ACL_RT_STREAM_STATE_CREATE_POST);
  return stream;
}

aclError Device::closeStream(Stream* stream, bool drop_tasks) noexcept {
  notifyStreamState(stream, ACL_RT_STREAM_STATE_DESTROY_PRE);
  {
    std::lock_guard lock(mutex_);
    const auto found = std::find(streams_.begin(), streams_.end(), stream);
    if (found == streams_.end()) {
      return fail(ACL_ERROR_RT_INVALID_HANDLE, "the stream has been destroyed already");
    }
    streams_.erase(found);
  }
  while (walkers_.load() != 0) std::this_thread::yield();
  forgetSubscription(stream);
  forgetAllocator(stream);
  return stream->close(drop_tasks);
}

std::vector<Stream*> Device::pinStreams() {
  std::lock_guard lock(mutex_);
  walkers_.fetch_add(1);
  return streams_;
}

void Device::unpinStreams() noexcept { walkers_.fetch_sub(1); }

aclError Device::synchronize(Deadline deadline) noexcept {
  return guarded([&] {
    aclError first = ACL_SUCCESS;
    std::string messages;
    const std::vector<Stream*> streams = pinStreams();
    // A failure is reported once, so none is taken before it is sure that this call reports it.
    for (Stream* stream : streams) {
      if (stream == Stream::running()) continue;
      first = stream->awaitTasks(deadline);
      if (first == ACL_SUCCESS) continue;
      unpinStreams();
      return first;
    }
    for (Stream* stream : streams) {
      if (stream == Stream::running()) continue;
      const StreamFailure failure = stream->takeFailure();
      if (failure.code == ACL_SUCCESS) continue;
      if (first == ACL_SUCCESS) first = failure.code;
      messages += (messages.empty() ? "" : "\n") + failure.message;
    }
    unpinStreams();
    return first == ACL_SUCCESS ? first : fail(first, std::move(messages));
  });
}

void Device::abortTasks() noexcept {
  guarded([&] {
    const std::vector<Stream*> streams = pinStreams();
    for (Stream* stream : streams) stream->abort();
    unpinStreams();
    return ACL_SUCCESS;
  });
}

void Device::requestStop() noexcept {
  std::lock_guard lock(mutex_);
  for (Stream* stream : streams_) stream->requestStop();
}

void Device::waitStopped(Deadline deadline) noexcept {
  std::lock_guard lock(mutex_);
  for (Stream* stream : streams_) stream->waitStopped(deadline);
}

}  // namespace softcann
