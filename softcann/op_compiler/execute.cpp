// aclopCompileAndExecute: an operator by its name, as a call of an aclnn function.
#include <string>

#include "op_compiler/operators.h"
#include "runtime/core/operator_description.h"
#include "runtime/core/task.h"

using namespace softcann;

namespace {

// Inputs in host memory need to live until this call returns only, and the operator runs later.
bool hasHostInput(int count, const aclTensorDesc* const descs[]) {
  for (int i = 0; i < count; ++i) {
    if (descs[i] != nullptr && descs[i]->placement != ACL_MEMTYPE_DEVICE) return true;
  }
  return false;
}

aclError execute(const char* function, const char* type, int inputs,
                 const aclTensorDesc* const input_descs[], const aclDataBuffer* const* input_data,
                 int outputs, const aclTensorDesc* const output_descs[],
                 aclDataBuffer* const* output_data, Operands& operands, aclrtStream stream) {
  if (type == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": opType is null");
  }
  if ((inputs > 0 && (input_descs == nullptr || input_data == nullptr)) ||
      (outputs > 0 && (output_descs == nullptr || output_data == nullptr))) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": " + type + ": descriptions or buffers are null");
  }
  for (int i = 0; i < inputs; ++i) {
    const aclError code = operands.addInput(input_descs[i], input_data[i]);
    if (code != ACL_SUCCESS) return code;
  }
  for (int i = 0; i < outputs; ++i) {
    const aclError code = operands.addOutput(output_descs[i], output_data[i]);
    if (code != ACL_SUCCESS) return code;
  }
  const SingleOperator* op = findOperator(type, operands);
  if (op == nullptr) {
    return fail(ACL_ERROR_OP_NOT_FOUND, std::string(function) +
                                            ": softcann has no single operator " + type +
                                            "; use an aclnn function");
  }
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = nullptr;
  if (const aclnnStatus code = op->prepare(operands, &workspace_size, &executor);
      code != ACLNN_SUCCESS) {
    return code;
  }
  if (const aclnnStatus code = op->execute(nullptr, 0, executor, stream); code != ACLNN_SUCCESS) {
    return code;
  }
  return hasHostInput(inputs, input_descs) ? aclrtSynchronizeStream(stream) : ACL_SUCCESS;
}

}  // namespace

extern "C" {

ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(
    const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
    const aclDataBuffer* const inputs[], int numOutputs, const aclTensorDesc* const outputDesc[],
    aclDataBuffer* const outputs[], const aclopAttr* attr, aclopEngineType /*engineType*/,
    aclopCompileType /*compileFlag*/, const char* /*opPath*/, aclrtStream stream) {
  Operands operands(attr);
  return execute("aclopCompileAndExecute", opType, numInputs, inputDesc, inputs, numOutputs,
                 outputDesc, outputs, operands, stream);
}

ACL_FUNC_VISIBILITY aclError aclopCompileAndExecuteV2(
    const char* opType, int numInputs, aclTensorDesc* inputDesc[], aclDataBuffer* inputs[],
    int numOutputs, aclTensorDesc* outputDesc[], aclDataBuffer* outputs[], aclopAttr* attr,
    aclopEngineType /*engineType*/, aclopCompileType /*compileFlag*/, const char* /*opPath*/,
    aclrtStream stream) {
  Operands operands(attr);
  aclError code = execute("aclopCompileAndExecuteV2", opType, numInputs, inputDesc, inputs,
                          numOutputs, outputDesc, outputs, operands, stream);
  if (code == ACL_SUCCESS) code = aclrtSynchronizeStream(stream);
  for (int i = 0; code == ACL_SUCCESS && i < numOutputs; ++i) {
    code = operands.readOutputShape(static_cast<size_t>(i), outputDesc[i]);
  }
  return code;
}

}  // extern "C"
