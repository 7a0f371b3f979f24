#include "runtime/core/registered_callbacks.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "runtime/core/device.h"

namespace softcann {
namespace {

template <class Function>
struct Registration {
  Function function;
  aclRegisterCallbackType type;
  void* data;

  bool is(Function other, aclRegisterCallbackType other_type) const noexcept {
    return function == other && type == other_type;
  }
};

// Functions by the names under which they were registered. `any` lets the runtime pass by where
// there are none.
template <class Function>
struct Named {
  struct Entry {
    Function function;
    void* args;
  };
  std::map<std::string, Entry> entries;
  std::atomic<bool> any{false};
};

struct Registry {
  std::mutex mutex;
  std::vector<Registration<aclInitCallbackFunc>> init;
  std::vector<Registration<aclFinalizeCallbackFunc>> finalize;
  bool initialized = false;
  std::optional<std::string> config;

  std::atomic<bool> any_exception{false};
  aclrtExceptionInfoCallback exception = nullptr;
  std::vector<aclrtExceptionInfoCallback> exceptions;

  Named<aclrtStreamStateCallback> stream;
  Named<aclrtDeviceStateCallback> device;
  Named<aclrtDeviceTaskAbortCallback> abort;
};

Registry& registry() {
  static auto* registry = new Registry;
  return *registry;
}

aclError runInit(const Registration<aclInitCallbackFunc>& registration,
                 const std::optional<std::string>& config) {
  const aclError code =
      config ? registration.function(config->c_str(), config->size(), registration.data)
             : registration.function(nullptr, 0, registration.data);
  if (code == ACL_SUCCESS) return ACL_SUCCESS;
  return fail(code, "a function of aclInitCallbackRegister() failed with " + std::to_string(code));
}

template <class Function>
aclError add(std::vector<Registration<Function>>& all, const char* name, Function function,
             aclRegisterCallbackType type, void* data) {
  if (function == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(name) + ": the function is null");
  }
  for (const auto& known : all) {
    if (!known.is(function, type)) continue;
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(name) + ": the function is registered already for this type");
  }
  all.push_back({function, type, data});
  return ACL_SUCCESS;
}

template <class Function>
aclError remove(std::vector<Registration<Function>>& all, const char* name, Function function,
                aclRegisterCallbackType type) {
  const size_t removed =
      std::erase_if(all, [&](const auto& known) { return known.is(function, type); });
  if (removed != 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string(name) + ": the function is not registered for this type");
}

void countExceptions(Registry& all) {
  all.any_exception = all.exception != nullptr || !all.exceptions.empty();
}

template <class Function>
aclError setNamed(Named<Function>& named, const char* api, const char* name, Function function,
                  void* args, bool replaces) {
  if (name == nullptr || *name == '\0') {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(api) + ": regName is null or empty");
  }
  std::lock_guard lock(registry().mutex);
  const bool known = named.entries.count(name) != 0;
  if (function == nullptr) {
    if (!known) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(api) + ": nothing is registered as '" + name + "'");
    }
    named.entries.erase(name);
  } else if (known && !replaces) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(api) + ": '" + name +
                                             "' is registered already; pass a null function first");
  } else {
    named.entries[name] = {function, args};
  }
  named.any = !named.entries.empty();
  return ACL_SUCCESS;
}

template <class Function>
std::map<std::string, typename Named<Function>::Entry> registered(const Named<Function>& named) {
  if (!named.any.load(std::memory_order_relaxed)) return {};
  std::lock_guard lock(registry().mutex);
  return named.entries;
}

}  // namespace

// ---- Start and end -------------------------------------------------------------------------

aclError runInitCallbacks(std::optional<std::string> config) {
  std::vector<Registration<aclInitCallbackFunc>> all;
  {
    std::lock_guard lock(registry().mutex);
    registry().config = config;
    registry().initialized = true;
    all = registry().init;
  }
  for (const auto& registration : all) {
    if (const aclError code = runInit(registration, config); code != ACL_SUCCESS) return code;
  }
  return ACL_SUCCESS;
}

aclError addInitCallback(aclInitCallbackFunc function, aclRegisterCallbackType type, void* data) {
  std::optional<std::string> config;
  {
    std::lock_guard lock(registry().mutex);
    const aclError code = add(registry().init, "aclInitCallbackRegister", function, type, data);
    if (code != ACL_SUCCESS || !registry().initialized) return code;
    config = registry().config;
  }
  return runInit({function, type, data}, config);
}

aclError removeInitCallback(aclInitCallbackFunc function, aclRegisterCallbackType type) {
  std::lock_guard lock(registry().mutex);
  return remove(registry().init, "aclInitCallbackUnRegister", function, type);
}

aclError runFinalizeCallbacks() {
  std::vector<Registration<aclFinalizeCallbackFunc>> all;
  {
    std::lock_guard lock(registry().mutex);
    registry().initialized = false;
    all = registry().finalize;
  }
  aclError first = ACL_SUCCESS;
  for (auto registration = all.rbegin(); registration != all.rend(); ++registration) {
    const aclError code = registration->function(registration->data);
    if (code == ACL_SUCCESS || first != ACL_SUCCESS) continue;
    first = fail(code,
                 "a function of aclFinalizeCallbackRegister() failed with " + std::to_string(code));
  }
  return first;
}

aclError addFinalizeCallback(aclFinalizeCallbackFunc function, aclRegisterCallbackType type,
                             void* data) {
  std::lock_guard lock(registry().mutex);
  return add(registry().finalize, "aclFinalizeCallbackRegister", function, type, data);
}

aclError removeFinalizeCallback(aclFinalizeCallbackFunc function, aclRegisterCallbackType type) {
  std::lock_guard lock(registry().mutex);
  return remove(registry().finalize, "aclFinalizeCallbackUnRegister", function, type);
}

// ---- Failed tasks --------------------------------------------------------------------------

void reportException(const Stream& stream, uint64_t task, aclError code) noexcept {
  if (!registry().any_exception.load(std::memory_order_relaxed)) return;
  std::vector<aclrtExceptionInfoCallback> all;
  try {
    std::lock_guard lock(registry().mutex);
    all = registry().exceptions;
    if (registry().exception != nullptr) all.push_back(registry().exception);
  } catch (...) {
    return;  // out of memory: the failure itself has been recorded
  }
  rtExceptionInfo info = {static_cast<uint32_t>(task), static_cast<uint32_t>(stream.id()),
                          static_cast<uint32_t>(syscall(SYS_gettid)),
                          static_cast<uint32_t>(stream.device()->id()),
                          static_cast<uint32_t>(code)};
  for (const aclrtExceptionInfoCallback function : all) function(&info);
}

void setExceptionCallback(aclrtExceptionInfoCallback function) {
  std::lock_guard lock(registry().mutex);
  registry().exception = function;
  countExceptions(registry());
}

void addExceptionCallback(aclrtExceptionInfoCallback function) {
  std::lock_guard lock(registry().mutex);
  auto& all = registry().exceptions;
  if (std::find(all.begin(), all.end(), function) == all.end()) all.push_back(function);
  countExceptions(registry());
}

aclError removeExceptionCallback(aclrtExceptionInfoCallback function) {
  std::lock_guard lock(registry().mutex);
  if (std::erase(registry().exceptions, function) == 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtExceptionInfoCallbackUnregister: the function is not registered");
  }
  countExceptions(registry());
  return ACL_SUCCESS;
}

// ---- Changes of state ----------------------------------------------------------------------

void notifyStreamState(Stream* stream, aclrtStreamState state) noexcept {
  guarded([&]() -> aclError {
    for (const auto& [name, entry] : registered(registry().stream)) {
      entry.function(stream->toHandle(), state, entry.args);
    }
    return ACL_SUCCESS;
  });
}

void notifyDeviceState(int device, aclrtDeviceState state) noexcept {
  guarded([&]() -> aclError {
    for (const auto& [name, entry] : registered(registry().device)) {
      entry.function(device, state, entry.args);
    }
    return ACL_SUCCESS;
  });
}

aclError notifyTaskAbort(int device, aclrtDeviceTaskAbortStage stage, uint32_t timeout) {
  for (const auto& [name, entry] : registered(registry().abort)) {
    const int32_t code = entry.function(device, stage, timeout, entry.args);
    if (code == 0) continue;
    return fail(code, "aclrtDeviceTaskAbort: the function that is registered as '" + name +
                          "' failed with " + std::to_string(code));
  }
  return ACL_SUCCESS;
}

aclError nameStreamCallback(const char* name, aclrtStreamStateCallback function, void* args) {
  return setNamed(registry().stream, "aclrtRegStreamStateCallback", name, function, args,
                  /*replaces=*/true);
}

aclError nameDeviceCallback(const char* name, aclrtDeviceStateCallback function, void* args) {
  return setNamed(registry().device, "aclrtRegDeviceStateCallback", name, function, args,
                  /*replaces=*/true);
}

aclError nameTaskAbortCallback(const char* name, aclrtDeviceTaskAbortCallback function,
                               void* args) {
  return setNamed(registry().abort, "aclrtSetDeviceTaskAbortCallback", name, function, args,
                  /*replaces=*/false);
}

}  // namespace softcann
