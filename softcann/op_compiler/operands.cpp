#include "op_compiler/operands.h"

#include <memory>
#include <utility>

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
  if (one_ != nullptr) aclDestroyScalar(one_);
}

aclError Operands::addInput(const aclTensorDesc* desc, const aclDataBuffer* buffer) {
  return describe(desc, buffer, inputs_.emplace_back());
}

aclError Operands::addOutput(const aclTensorDesc* desc, const aclDataBuffer* buffer) {
  return describe(desc, buffer, outputs_.emplace_back());
}

bool Operands::flag(const char* name) const {
  if (attributes_ == nullptr) return false;
  const auto found = attributes_->values.find(name);
  if (found == attributes_->values.end()) return false;
  const bool* value = std::get_if<bool>(&found->second);
  return value != nullptr && *value;
}

aclError Operands::transposeInput(size_t index) {
  aclTensor* tensor = at(inputs_, index);
  int64_t* sizes_given = nullptr;
  int64_t* strides_given = nullptr;
  uint64_t dims = 0;
  if (const aclnnStatus code = aclGetViewShape(tensor, &sizes_given, &dims); code != ACL_SUCCESS) {
    return code;
  }
  const std::unique_ptr<int64_t[]> sizes(sizes_given);
  if (const aclnnStatus code = aclGetViewStrides(tensor, &strides_given, &dims);
      code != ACL_SUCCESS) {
    return code;
  }
  const std::unique_ptr<int64_t[]> strides(strides_given);
  if (dims < 2) return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "single operator: a matrix is expected");
  std::swap(sizes[dims - 1], sizes[dims - 2]);
  std::swap(strides[dims - 1], strides[dims - 2]);
  aclDataType type = ACL_DT_UNDEFINED;
  void* data = nullptr;
  aclGetDataType(tensor, &type);
  aclGetRawTensorAddr(tensor, &data);
  aclTensor* transposed = aclCreateTensor(sizes.get(), dims, type, strides.get(), 0, ACL_FORMAT_ND,
                                          sizes.get(), dims, data);
  if (transposed == nullptr) return ACL_ERROR_UNSUPPORTED_DATA_TYPE;
  aclDestroyTensor(tensor);
  inputs_[index] = transposed;
  return ACL_SUCCESS;
}

const aclScalar* Operands::one() {
  int64_t value = 1;
  if (one_ == nullptr) one_ = aclCreateScalar(&value, ACL_INT64);
  return one_;
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
