#include "op_compiler/operands.h"

#include "runtime/core/operator_description.h"
#include "runtime/core/task.h"

namespace softcann {

namespace {

aclError describe(const aclTensorDesc* desc, const aclDataBuffer* buffer, aclTensor*& tensor) {
  tensor = nullptr;
  if (desc == nullptr || desc->type == ACL_DT_UNDEFINED || buffer == nullptr) return ACL_SUCCESS;
  for (const int64_t size : desc->dims) {
    if (size < 0) {
      return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                  "single operator: a dimension is " + std::to_string(size));
    }
  }
  void* data = aclGetDataBufferAddr(buffer);
  if (aclGetTensorDescSize(desc) > aclGetDataBufferSizeV2(buffer)) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "single operator: a buffer of " + std::to_string(aclGetDataBufferSizeV2(buffer)) +
                    " bytes for a tensor of " + std::to_string(aclGetTensorDescSize(desc)));
  }
  tensor = aclCreateTensor(desc->dims.data(), desc->dims.size(), desc->type, nullptr, 0,
                           ACL_FORMAT_ND, desc->dims.data(), desc->dims.size(), data);
  return tensor != nullptr ? ACL_SUCCESS : ACL_ERROR_UNSUPPORTED_DATA_TYPE;
}

}  // namespace

Operands::~Operands() {
  for (const Tensors* tensors : {&inputs_, &outputs_}) {
    for (const aclTensor* tensor : *tensors) {
      if (tensor != nullptr) aclDestroyTensor(tensor);
    }
  }
  for (const aclTensorList* list : lists_) aclDestroyTensorList(list);
}

aclError Operands::addInput(const aclTensorDesc* desc, const aclDataBuffer* buffer) {
  return describe(desc, buffer, inputs_.emplace_back());
}

aclError Operands::addOutput(const aclTensorDesc* desc, const aclDataBuffer* buffer) {
  return describe(desc, buffer, outputs_.emplace_back());
}

aclTensorList* Operands::take(Tensors& tensors, const std::vector<size_t>& indices) {
  std::vector<aclTensor*> taken;
  for (const size_t index : indices) {
    taken.push_back(at(tensors, index));
    if (index < tensors.size()) tensors[index] = nullptr;
  }
  lists_.push_back(aclCreateTensorList(taken.data(), taken.size()));
  return lists_.back();
}

}  // namespace softcann
