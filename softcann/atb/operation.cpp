#include "atb/operation.h"

#include <cstdio>
#include <stdexcept>
#include <utility>

#include "aclnnop/aclnn_copy.h"
#include "runtime/core/task.h"

namespace softcann {

atb::Status refuse(const std::string& operation, const std::string& reason) {
  const std::string text = operation + ": " + reason;
  std::fprintf(stderr, "softcann: atb: %s\n", text.c_str());
  fail(ACL_ERROR_INVALID_PARAM, text);
  return atb::ERROR_INVALID_PARAM;
}

void AclnnOperation::note(aclnnStatus code) {
  if (code == ACLNN_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  throw std::invalid_argument(text != nullptr ? text : "error " + std::to_string(code));
}

void AclnnOperation::forget() {
  for (const Call& call : calls_) aclDestroyAclOpExecutor(call.executor);
  calls_.clear();
  tensors_.clear();
  lists_.clear();
  arrays_.clear();
}

atb::Status AclnnOperation::InferShape(const atb::SVector<atb::TensorDesc>& inputs,
                                       atb::SVector<atb::TensorDesc>& outputs) const {
  if (inputs.size() != inputs_) {
    refuse(name_, "expected " + std::to_string(inputs_) + " inputs, but got " +
                      std::to_string(inputs.size()));
    return atb::ERROR_INVALID_IN_TENSOR_NUM;
  }
  if (!outputs.resize(changed_.size())) return refuse(name_, "no room for the outputs' shapes");
  for (size_t i = 0; i < changed_.size(); ++i) outputs[i] = inputs[changed_[i]];
  return atb::NO_ERROR;
}

atb::Status AclnnOperation::Setup(const atb::VariantPack& tensors, uint64_t& workspaceSize,
                                  atb::Context* /*context*/) {
  workspaceSize = 0;
  forget();
  if (tensors.inTensors.size() != inputs_ || tensors.outTensors.size() != changed_.size()) {
    refuse(name_, "expected " + std::to_string(inputs_) + " inputs and " +
                      std::to_string(changed_.size()) + " outputs, but got " +
                      std::to_string(tensors.inTensors.size()) + " and " +
                      std::to_string(tensors.outTensors.size()));
    return atb::ERROR_INVALID_IN_TENSOR_NUM;
  }
  try {
    prepare(tensors);
  } catch (const std::exception& error) {
    forget();
    return refuse(name_, error.what());
  }
  return atb::NO_ERROR;
}

atb::Status AclnnOperation::Execute(const atb::VariantPack& /*tensors*/, uint8_t* /*workspace*/,
                                    uint64_t /*workspaceSize*/, atb::Context* context) {
  if (context == nullptr) return refuse(name_, "Execute() without a context");
  if (calls_.empty()) return refuse(name_, "Execute() without a Setup() before it");
  // Phase two takes the executor over, whatever it returns.
  const std::vector<Call> calls = std::exchange(calls_, {});
  aclnnStatus code = ACLNN_SUCCESS;
  for (const Call& call : calls) {
    if (code == ACLNN_SUCCESS) {
      code = call.execute(nullptr, 0, call.executor, context->GetExecuteStream());
    } else {
      aclDestroyAclOpExecutor(call.executor);
    }
  }
  forget();
  return code == ACLNN_SUCCESS ? atb::NO_ERROR : atb::ERROR_CANN_ERROR;
}

AclnnOperation::Sizes AclnnOperation::sizes(const atb::Tensor& tensor) {
  const atb::Dims& shape = tensor.desc.shape;
  return {shape.dims, shape.dims + shape.dimNum};
}

aclTensor* AclnnOperation::describe(const atb::Tensor& tensor, const Sizes& sizes,
                                    const Sizes& strides) {
  if (tensor.deviceData == nullptr && tensor.dataSize != 0) {
    throw std::invalid_argument("a tensor does not lie on the device");
  }
  const Sizes storage = AclnnOperation::sizes(tensor);
  aclTensor* made = aclCreateTensor(sizes.data(), sizes.size(), tensor.desc.dtype,
                                    strides.empty() ? nullptr : strides.data(), 0, ACL_FORMAT_ND,
                                    storage.data(), storage.size(), tensor.deviceData);
  if (made == nullptr) note(ACLNN_ERR_PARAM_INVALID);
  tensors_.emplace_back(made, aclDestroyTensor);
  return made;
}

aclTensor* AclnnOperation::describe(const atb::Tensor& tensor) {
  return describe(tensor, sizes(tensor));
}

aclTensorList* AclnnOperation::list(const atb::Tensor& tensor, const Sizes& sizes) {
  const aclTensor* only = describe(tensor, sizes);
  aclTensorList* made = aclCreateTensorList(&only, 1);
  tensors_.back().release();  // the list has it now
  tensors_.pop_back();
  lists_.emplace_back(made, aclDestroyTensorList);
  return made;
}

aclIntArray* AclnnOperation::array(const Sizes& values) {
  aclIntArray* made = aclCreateIntArray(values.data(), values.size());
  arrays_.emplace_back(made, aclDestroyIntArray);
  return made;
}

AclnnOperation::Sizes AclnnOperation::onHost(const char* what, const atb::Tensor& tensor) {
  if (tensor.desc.dtype != ACL_INT32 || tensor.hostData == nullptr) {
    throw std::invalid_argument(std::string(what) +
                                " is no int32 tensor on the CPU, where it is read from");
  }
  const auto* first = static_cast<const int32_t*>(tensor.hostData);
  return {first, first + tensor.dataSize / sizeof(int32_t)};
}

aclTensor* AclnnOperation::inPlace(const atb::Tensor& input, const atb::Tensor& output,
                                   const Sizes& sizes) {
  aclTensor* made = describe(output, sizes);
  if (output.deviceData != input.deviceData) {
    const aclTensor* from = describe(input, sizes);
    call([&](auto... phase) { return aclnnInplaceCopyGetWorkspaceSize(made, from, phase...); },
         aclnnInplaceCopy);
  }
  return made;
}

}  // namespace softcann
