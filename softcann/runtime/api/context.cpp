// Contexts and their options.
#include "runtime/core/context.h"

#include <string>

#include "runtime/core/device.h"

using namespace softcann;

namespace {

std::atomic<int64_t> process_options[4];

aclError checkOption(const char* function, aclSysParamOpt option) {
  if (option >= ACL_OPT_DETERMINISTIC && option <= ACL_OPT_ENABLE_KERNEL_EARLY_START) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string(function) + ": there is no option " + std::to_string(option));
}

aclError liveContext(const char* function, aclrtContext handle, Context*& context) {
  context = Context::fromHandle(handle);
  if (context != nullptr && context->isAlive()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE,
              std::string(function) + ": the context is null, destroyed, or of a closed device");
}

}  // namespace

extern "C" {

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  return entry([&]() -> aclError {
    if (context == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateContext: context is null");
    }
    aclError code;
    Device* device = Device::find(deviceId, code);
    if (device == nullptr) return code;
    code = device->open();
    if (code != ACL_SUCCESS) return code;
    Context* created = Context::open(device);
    Context::setCurrent(created);
    *context = created->toHandle();
    return ACL_SUCCESS;
  });
}

aclError aclrtDestroyContext(aclrtContext handle) {
  if (process_state.load() == ProcessState::kFinalized) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    Context* context = nullptr;
    aclError code = liveContext("aclrtDestroyContext", handle, context);
    if (code != ACL_SUCCESS) return code;
    Device* device = context->device();
    if (context == device->primaryContext()) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtDestroyContext: this is the primary context of device " +
                      std::to_string(device->id()) + "; use aclrtResetDevice()");
    }
    device->removeContext(context);
    code = context->close(/*drop_tasks=*/false);
    if (Context::current() == context) Context::setCurrent(nullptr);
    const aclError reset = device->close(/*force=*/false, /*all_uses=*/false);
    return code != ACL_SUCCESS ? code : reset;
  });
}

aclError aclrtSetCurrentContext(aclrtContext handle) {
  return entry([&]() -> aclError {
    Context* context = nullptr;
    const aclError code = liveContext("aclrtSetCurrentContext", handle, context);
    if (code == ACL_SUCCESS) Context::setCurrent(context);
    return code;
  });
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
  return entry([&]() -> aclError {
    if (context == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetCurrentContext: context is null");
    }
    Context* current = nullptr;
    const aclError code = currentContext(current);
    if (code == ACL_SUCCESS) *context = current->toHandle();
    return code;
  });
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  return entry([&]() -> aclError {
    if (stream == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtCtxGetCurrentDefaultStream: stream is null");
    }
    Stream* found = nullptr;
    const aclError code = resolveStream(nullptr, found);
    if (code == ACL_SUCCESS) *stream = found->toHandle();
    return code;
  });
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  return entry([&]() -> aclError {
    if (active == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetPrimaryCtxState: active is null");
    }
    aclError code;
    Device* device = Device::find(deviceId, code);
    if (device == nullptr) return code;
    if (flags != nullptr) *flags = 0;
    *active = device->primaryContext()->isAlive() ? 1 : 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return entry([&]() -> aclError {
    aclError code = checkOption("aclrtCtxGetSysParamOpt", opt);
    if (code != ACL_SUCCESS) return code;
    if (value == nullptr) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclrtCtxGetSysParamOpt: value is null");
    }
    Context* context = nullptr;
    code = currentContext(context);
    if (code == ACL_SUCCESS) *value = context->system_options[opt].load();
    return code;
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return entry([&]() -> aclError {
    aclError code = checkOption("aclrtCtxSetSysParamOpt", opt);
    if (code != ACL_SUCCESS) return code;
    Context* context = nullptr;
    code = currentContext(context);
    if (code == ACL_SUCCESS) context->system_options[opt].store(value);
    return code;
  });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  const aclError code = checkOption("aclrtGetSysParamOpt", opt);
  if (code != ACL_SUCCESS) return code;
  if (value == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetSysParamOpt: value is null");
  *value = process_options[opt].load();
  return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  const aclError code = checkOption("aclrtSetSysParamOpt", opt);
  if (code == ACL_SUCCESS) process_options[opt].store(value);
  return code;
}

}  // extern "C"
