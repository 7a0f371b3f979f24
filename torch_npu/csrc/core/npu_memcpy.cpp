#include "torch_npu/csrc/core/npu_memcpy.h"

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/host_wait.h"
#include "torch_npu/csrc/core/sync_debug.h"
#include "torch_npu/csrc/profiler/device_trace.h"

namespace torch_npu {
namespace {

const char* nameOf(aclrtMemcpyKind kind) {
  switch (kind) {
    case ACL_MEMCPY_HOST_TO_DEVICE:
      return "Memcpy HtoD";
    case ACL_MEMCPY_DEVICE_TO_HOST:
      return "Memcpy DtoH";
    case ACL_MEMCPY_DEVICE_TO_DEVICE:
      return "Memcpy DtoD";
    default:
      return "Memcpy";
  }
}

}  // namespace

void memcpyAsync(void* destination, const void* source, size_t bytes, aclrtMemcpyKind kind,
                 const NPUStream& stream) {
  const aclrtStream handle = stream.stream();
  const profiler::SpanScope span(profiler::SpanKind::kMemcpy, nameOf(kind), stream, bytes);
  NPU_CHECK(acl::api().aclrtMemcpyAsync(destination, bytes, source, bytes, kind, handle));
}

void memcpyAndSync(void* destination, const void* source, size_t bytes, aclrtMemcpyKind kind,
                   const NPUStream& stream) {
  reportSynchronization();
  const aclrtStream handle = stream.stream();
  {
    // Where this waits itself, the copy is over when it returns.
    const profiler::SpanScope span(profiler::SpanKind::kMemcpy, nameOf(kind), stream, bytes);
    const aclError code = interruptibly([&] {
      return acl::api().aclrtMemcpyAsync(destination, bytes, source, bytes, kind, handle);
    });
    NPU_CHECK_CODE(code, "aclrtMemcpyAsync");
  }
  // To the end: until then, the copy uses the host's memory.
  NPU_CHECK(acl::api().aclrtSynchronizeStream(handle));
}

}  // namespace torch_npu
