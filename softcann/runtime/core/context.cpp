#include "runtime/core/context.h"

#include "runtime/core/device.h"
#include "runtime/core/error_state.h"

namespace softcann {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local Context* current_context = nullptr;
std::atomic<Device*> default_device{nullptr};

}  // namespace

Context* Context::open(Device* device) {
  auto* context = new Context(device);
  context->activate();
  device->addContext(context);
  return context;
}

Context* Context::current() noexcept { return current_context; }
void Context::setCurrent(Context* context) noexcept { current_context = context; }

Device* Context::defaultDevice() noexcept { return default_device.load(); }
void Context::setDefaultDevice(Device* device) noexcept { default_device.store(device); }

aclError Context::close(bool drop_tasks) noexcept {
  uint32_t alive = kMagic;
  if (!magic_.compare_exchange_strong(alive, 0)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "the context has been destroyed already");
  }
  if (Stream* stream = default_stream_.exchange(nullptr)) {
    return device_->closeStream(stream, drop_tasks);
  }
  return ACL_SUCCESS;
}

Stream* Context::createDefaultStream() noexcept {
  Stream* created = nullptr;
  guarded([&] {
    std::lock_guard lock(mutex_);
    created = default_stream_.load();
    if (created == nullptr) {
      created = device_->openStream(this, 0, 0);
      default_stream_.store(created, std::memory_order_release);
    }
    return ACL_SUCCESS;
  });
  return created;
}

aclError currentContext(Context*& context) noexcept {
  context = current_context;
  if (__builtin_expect(context != nullptr && context->isAlive(), 1)) return ACL_SUCCESS;
  if (Device* device = Context::defaultDevice(); context == nullptr && device != nullptr) {
    if (const aclError code = device->open(); code != ACL_SUCCESS) return code;
    Context::setCurrent(context = device->primaryContext());
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_CONTEXT_NULL,
              context == nullptr
                  ? "the calling thread has no device: call aclrtSetDevice() first"
                  : "the calling thread's context has been destroyed or its device reset");
}

aclError resolveStream(aclrtStream handle, Stream*& stream) noexcept {
  if (__builtin_expect(!processIsReady(), 0)) return notReady();
  if (handle != nullptr) {
    stream = Stream::fromHandle(handle);
    if (__builtin_expect(stream->isAlive(), 1)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_INVALID_HANDLE, "the stream has been destroyed, or never was one");
  }
  Context* context = nullptr;
  const aclError code = currentContext(context);
  if (code != ACL_SUCCESS) return code;
  stream = context->defaultStream();
  return stream != nullptr ? ACL_SUCCESS : lastError();
}

}  // namespace softcann
