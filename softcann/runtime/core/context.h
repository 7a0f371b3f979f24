// Context: a device seen by some host threads, with a default stream of its own. Each device has
// a primary context, which aclrtSetDevice() makes current.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "runtime/core/process.h"
#include "runtime/core/stream.h"

namespace softcann {

class Device;

class Context {
 public:
  explicit Context(Device* device) noexcept : device_(device) {}

  static Context* open(Device* device);
  static Context* fromHandle(aclrtContext handle) noexcept { return static_cast<Context*>(handle); }
  aclrtContext toHandle() noexcept { return this; }
  bool isAlive() const noexcept { return magic_.load(std::memory_order_relaxed) == kMagic; }

  void activate() noexcept { magic_.store(kMagic); }
  // Destroys the default stream. A context stays readable for good, so that stale handles and
  // threads that still have it as current find out.
  aclError close(bool drop_tasks) noexcept;

  Device* device() const noexcept { return device_; }
  // Created at its first use; nullptr with the error text set if that fails.
  Stream* defaultStream() noexcept {
    Stream* stream = default_stream_.load(std::memory_order_acquire);
    return stream != nullptr ? stream : createDefaultStream();
  }

  // The calling thread's context, or nullptr.
  static Context* current() noexcept;
  static void setCurrent(Context* context) noexcept;

  // The device that threads without a context use from their first call on that needs one, as
  // `defaultDevice` in aclInit()'s file asks for; nullptr for none.
  static Device* defaultDevice() noexcept;
  static void setDefaultDevice(Device* device) noexcept;

  std::atomic<int64_t> system_options[4] = {0, 0, 0, 0};

 private:
  static constexpr uint32_t kMagic = 0x43545854;

  Stream* createDefaultStream() noexcept;

  std::atomic<uint32_t> magic_{0};
  Device* device_;
  std::atomic<Stream*> default_stream_{nullptr};
  std::mutex mutex_;
};

// The thread's current context, or the default device's; without one, sets the error text and
// returns the code.
aclError currentContext(Context*& context) noexcept;

// A live stream for the handle; nullptr means the default stream of the current context.
aclError resolveStream(aclrtStream handle, Stream*& stream) noexcept;

}  // namespace softcann
