// Streams.
#include "runtime/core/stream.h"

#include "runtime/api/checks.h"
#include "runtime/core/device.h"

using namespace softcann;

namespace {

constexpr uint32_t kLowestPriority = 7;

aclError createStream(const char* function, aclrtStream* stream, uint32_t priority,
                      uint32_t flags) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "stream", stream));
    if (priority > kLowestPriority) {
      return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the priority " +
                                               std::to_string(priority) +
                                               " is not within 0 (highest) to 7");
    }
    Context* context = nullptr;
    SOFTCANN_TRY(currentContext(context));
    *stream = context->device()->openStream(context, priority, flags)->toHandle();
    return ACL_SUCCESS;
  });
}

aclError destroyStream(const char* function, aclrtStream handle, bool drop_tasks) {
  if (isFinalized()) return ACL_SUCCESS;
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "stream", handle));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    if (Stream::running() == stream) {
      return fail(ACL_ERROR_RT_STREAM_CONTEXT,
                  std::string(function) + ": a task cannot destroy the stream that runs it");
    }
    return stream->device()->closeStream(stream, drop_tasks);
  });
}

aclError setFailureMode(const char* function, Stream* stream, uint64_t mode) {
  if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": there is no failure mode " + std::to_string(mode));
  }
  stream->setStopOnFailure(mode == ACL_STOP_ON_FAILURE);
  return ACL_SUCCESS;
}

aclError badAttribute(const char* function, aclrtStreamAttr attribute) {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": the attribute " +
                                           std::to_string(attribute) +
                                           " does not exist or cannot be set");
}

}  // namespace

extern "C" {

aclError aclrtCreateStream(aclrtStream* stream) {
  return createStream("aclrtCreateStream", stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return createStream("aclrtCreateStreamWithConfig", stream, priority, flag);
}

aclError aclrtDestroyStream(aclrtStream stream) {
  return destroyStream("aclrtDestroyStream", stream, /*drop_tasks=*/false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  return destroyStream("aclrtDestroyStreamForce", stream, /*drop_tasks=*/true);
}

aclError aclrtStreamAbort(aclrtStream handle) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtStreamAbort", "stream", handle));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    stream->abort();
    return ACL_SUCCESS;
  });
}

aclError aclrtSynchronizeStream(aclrtStream handle) {
  Stream* stream = nullptr;
  SOFTCANN_TRY(resolveStream(handle, stream));
  return stream->synchronize(Deadline::never());
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t timeout) {
  return entry([&]() -> aclError {
    if (timeout < -1) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclrtSynchronizeStreamWithTimeout: the timeout must be -1 or more");
    }
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return stream->synchronize(Deadline::afterMilliseconds(timeout));
  });
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtStreamQuery", "status", status));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *status = stream->isIdle() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamGetId(aclrtStream handle, int32_t* streamId) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtStreamGetId", "streamId", streamId));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *streamId = stream->id();
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamGetPriority(aclrtStream handle, uint32_t* priority) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtStreamGetPriority", "priority", priority));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *priority = stream->priority();
    return ACL_SUCCESS;
  });
}

aclError aclrtStreamGetFlags(aclrtStream handle, uint32_t* flags) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtStreamGetFlags", "flags", flags));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *flags = stream->creationFlags();
    return ACL_SUCCESS;
  });
}

aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    return setFailureMode("aclrtSetStreamFailureMode", stream, mode);
  });
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream handle, uint32_t flag) {
  return entry([&]() -> aclError {
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    if (flag != 0) {
      return fail(ACL_ERROR_API_NOT_SUPPORT,
                  "aclrtSetStreamOverflowSwitch: overflow detection is not supported; results "
                  "are IEEE infinities and NaNs, which the program can look for");
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream handle, uint32_t* flag) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetStreamOverflowSwitch", "flag", flag));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    *flag = 0;
    return ACL_SUCCESS;
  });
}

aclError aclrtSetStreamAttribute(aclrtStream handle, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtSetStreamAttribute", "value", value));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    switch (stmAttrType) {
      case ACL_STREAM_ATTR_FAILURE_MODE:
        return setFailureMode("aclrtSetStreamAttribute", stream, value->failureMode);
      case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        return aclrtSetStreamOverflowSwitch(handle, value->overflowSwitch);
      case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        stream->attributes.custom_tag = value->userCustomTag;
        return ACL_SUCCESS;
      case ACL_STREAM_ATTR_CACHE_OP_INFO:
        stream->attributes.cache_op_info = value->cacheOpInfoSwitch;
        return ACL_SUCCESS;
      default:
        return badAttribute("aclrtSetStreamAttribute", stmAttrType);
    }
  });
}

aclError aclrtGetStreamAttribute(aclrtStream handle, aclrtStreamAttr stmAttrType,
                                 aclrtStreamAttrValue* value) {
  return entry([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclrtGetStreamAttribute", "value", value));
    Stream* stream = nullptr;
    SOFTCANN_TRY(resolveStream(handle, stream));
    switch (stmAttrType) {
      case ACL_STREAM_ATTR_FAILURE_MODE:
        value->failureMode =
            stream->stopsOnFailure() ? ACL_STOP_ON_FAILURE : ACL_CONTINUE_ON_FAILURE;
        return ACL_SUCCESS;
      case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        value->overflowSwitch = 0;
        return ACL_SUCCESS;
      case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        value->userCustomTag = stream->attributes.custom_tag;
        return ACL_SUCCESS;
      case ACL_STREAM_ATTR_CACHE_OP_INFO:
        value->cacheOpInfoSwitch = stream->attributes.cache_op_info;
        return ACL_SUCCESS;
      case ACL_STREAM_ATTR_PRIORITY:
        value->streamPriority = stream->priority();
        return ACL_SUCCESS;
    }
    return badAttribute("aclrtGetStreamAttribute", stmAttrType);
  });
}

}  // extern "C"
