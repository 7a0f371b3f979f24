// aclopCompileAndExecute: looks the operator up and refuses what is not there.
#include <string>

#include "acl/acl_op_compiler.h"
#include "runtime/core/task.h"

namespace {

aclError notFound(const char* function, const char* type) {
  if (type == nullptr) {
    return softcann::fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": opType is null");
  }
  return softcann::fail(ACL_ERROR_OP_NOT_FOUND, std::string(function) +
                                                    ": softcann has no single operator " + type +
                                                    "; use an aclnn function");
}

}  // namespace

extern "C" {

ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(
    const char* opType, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
    const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType,
    aclopCompileType, const char*, aclrtStream) {
  return notFound("aclopCompileAndExecute", opType);
}

ACL_FUNC_VISIBILITY aclError aclopCompileAndExecuteV2(const char* opType, int, aclTensorDesc*[],
                                                      aclDataBuffer*[], int, aclTensorDesc*[],
                                                      aclDataBuffer*[], aclopAttr*, aclopEngineType,
                                                      aclopCompileType, const char*, aclrtStream) {
  return notFound("aclopCompileAndExecuteV2", opType);
}

}  // extern "C"
