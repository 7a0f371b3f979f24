#include "op_compiler/operands.h"

#include <functional>
#include <memory>
#include <numeric>
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

int64_t elements(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

template <class Value>
Value attribute(const aclopAttr* attributes, const char* name, Value otherwise) {
  if (attributes == nullptr) return otherwise;
  const auto found = attributes->values.find(name);
  if (found == attributes->values.end()) return otherwise;
  const Value* value = std::get_if<Value>(&found->second);
  return value != nullptr ? *value : otherwise;
}

}  // namespace

aclnnStatus Operands::View::read(const aclTensor* tensor) {
  int64_t* values = nullptr;
  uint64_t dims = 0;
  if (const aclnnStatus code = aclGetViewShape(tensor, &values, &dims); code != ACL_SUCCESS) {
    return code;
  }
  std::unique_ptr<int64_t[]> owned(values);
  sizes.assign(values, values + dims);
  if (const aclnnStatus code = aclGetViewStrides(tensor, &values, &dims); code != ACL_SUCCESS) {
    return code;
  }
  owned.reset(values);
  strides.assign(values, values + dims);
  return ACL_SUCCESS;
}

Operands::~Operands() {
  for (const Tensors* tensors : {&inputs_, &outputs_}) {
    for (const aclTensor* tensor : *tensors) {
      if (tensor != nullptr) aclDestroyTensor(tensor);
    }
  }
  for (const aclTensorList* list : lists_) aclDestroyTensorList(list);
  for (const aclIntArray* array : arrays_) aclDestroyIntArray(array);
  if (one_ != nullptr) aclDestroyScalar(one_);
}

aclError Operands::addInput(const aclTensorDesc* desc, const aclDataBuffer* buffer) {
  const void* host = nullptr;
  if (desc != nullptr && buffer != nullptr && desc->placement != ACL_MEMTYPE_DEVICE) {
    host = aclGetDataBufferAddr(buffer);
  }
  if (desc != nullptr && !desc->constant.empty()) host = desc->constant.data();
  host_inputs_.push_back(host);
  return describe(desc, buffer, inputs_.emplace_back());
}

aclError Operands::addOutput(const aclTensorDesc* desc, const aclDataBuffer* buffer) {
  return describe(desc, buffer, outputs_.emplace_back());
}

aclError Operands::readOutputShape(size_t index, aclTensorDesc* desc) const {
  const aclTensor* tensor = at(outputs_, index);
  if (tensor == nullptr) return ACL_SUCCESS;
  View view;
  if (const aclnnStatus code = view.read(tensor); code != ACL_SUCCESS) return code;
  if (elements(view.sizes) < elements(desc->dims)) desc->dims = view.sizes;
  return ACL_SUCCESS;
}

bool Operands::flag(const char* name) const { return attribute(attributes_, name, false); }

float Operands::number(const char* name, float otherwise) const {
  return attribute(attributes_, name, otherwise);
}

int64_t Operands::integer(const char* name, int64_t otherwise) const {
  return attribute(attributes_, name, otherwise);
}

std::string Operands::text(const char* name) const {
  return attribute(attributes_, name, std::string());
}

std::vector<int64_t> Operands::integers(const char* name) const {
  return attribute(attributes_, name, std::vector<int64_t>());
}

std::vector<int64_t> Operands::inputSizes(size_t index) const {
  View view;
  view.read(input(index));
  return view.sizes;
}

aclError Operands::integers(size_t index, std::vector<int64_t>& values) const {
  const aclTensor* tensor = input(index);
  const void* host = tensor != nullptr ? host_inputs_[index] : nullptr;
  aclDataType type = ACL_DT_UNDEFINED;
  View view;
  if (host == nullptr || aclGetDataType(tensor, &type) != ACL_SUCCESS ||
      (type != ACL_INT32 && type != ACL_INT64 && type != ACL_UINT64) ||
      view.read(tensor) != ACL_SUCCESS || view.sizes.size() != 1) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "single operator: a vector of integers in host memory is expected as input " +
                    std::to_string(index));
  }
  const auto count = static_cast<size_t>(view.sizes[0]);
  if (type != ACL_INT32) {
    const auto* first = static_cast<const int64_t*>(host);
    values.assign(first, first + count);
  } else {
    const auto* first = static_cast<const int32_t*>(host);
    values.assign(first, first + count);
  }
  return ACL_SUCCESS;
}

aclError Operands::replace(Tensors& tensors, size_t index, const View& view, int64_t offset) {
  aclTensor* tensor = tensors[index];
  aclDataType type = ACL_DT_UNDEFINED;
  void* data = nullptr;
  aclGetDataType(tensor, &type);
  aclGetRawTensorAddr(tensor, &data);
  int64_t reach = offset + 1;
  for (size_t i = 0; i < view.sizes.size(); ++i) reach += (view.sizes[i] - 1) * view.strides[i];
  aclTensor* replaced =
      aclCreateTensor(view.sizes.data(), view.sizes.size(), type, view.strides.data(), offset,
                      ACL_FORMAT_ND, &reach, 1, data);
  if (replaced == nullptr) return ACL_ERROR_UNSUPPORTED_DATA_TYPE;
  aclDestroyTensor(tensor);
  tensors[index] = replaced;
  return ACL_SUCCESS;
}

aclError Operands::reshape(Tensors& tensors, size_t index, const std::vector<int64_t>& sizes) {
  View view;
  if (const aclnnStatus code = view.read(at(tensors, index)); code != ACL_SUCCESS) return code;
  if (elements(view.sizes) != elements(sizes)) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "single operator: a shape of " + std::to_string(elements(sizes)) +
                    " elements for a tensor of " + std::to_string(elements(view.sizes)));
  }
  view.sizes = sizes;
  view.strides.assign(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) view.strides[i - 1] = view.strides[i] * sizes[i];
  return replace(tensors, index, view, 0);
}

aclError Operands::reshapeInput(size_t index, const std::vector<int64_t>& sizes) {
  return reshape(inputs_, index, sizes);
}

aclError Operands::reshapeOutput(size_t index, const std::vector<int64_t>& sizes) {
  return reshape(outputs_, index, sizes);
}

aclError Operands::permuteInput(size_t index, const std::vector<int64_t>& order) {
  View view;
  if (const aclnnStatus code = view.read(at(inputs_, index)); code != ACL_SUCCESS) return code;
  const auto dims = static_cast<int64_t>(view.sizes.size());
  std::vector<bool> seen(view.sizes.size());
  View permuted;
  for (const int64_t dim : order) {
    const int64_t from = dim < 0 ? dim + dims : dim;
    if (from < 0 || from >= dims || seen[static_cast<size_t>(from)]) break;
    seen[static_cast<size_t>(from)] = true;
    permuted.sizes.push_back(view.sizes[static_cast<size_t>(from)]);
    permuted.strides.push_back(view.strides[static_cast<size_t>(from)]);
  }
  if (order.size() != view.sizes.size() || permuted.sizes.size() != order.size()) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "single operator: an order of dimensions that does not name each once");
  }
  return replace(inputs_, index, permuted, 0);
}

aclError Operands::transposeInput(size_t index) {
  View view;
  if (const aclnnStatus code = view.read(at(inputs_, index)); code != ACL_SUCCESS) return code;
  const size_t dims = view.sizes.size();
  if (dims < 2) return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "single operator: a matrix is expected");
  std::swap(view.sizes[dims - 1], view.sizes[dims - 2]);
  std::swap(view.strides[dims - 1], view.strides[dims - 2]);
  return replace(inputs_, index, view, 0);
}

aclError Operands::narrowInput(size_t index, const std::vector<int64_t>& starts,
                               const std::vector<int64_t>& sizes) {
  View view;
  if (const aclnnStatus code = view.read(at(inputs_, index)); code != ACL_SUCCESS) return code;
  int64_t offset = 0;
  bool fits = starts.size() == view.sizes.size() && sizes.size() == view.sizes.size();
  for (size_t i = 0; fits && i < sizes.size(); ++i) {
    fits = starts[i] >= 0 && starts[i] <= view.sizes[i];
    // -1 stands for all that follows.
    const int64_t rest = fits ? view.sizes[i] - starts[i] : 0;
    const int64_t size = sizes[i] == -1 ? rest : sizes[i];
    fits = fits && size >= 0 && size <= rest;
    offset += starts[i] * view.strides[i];
    view.sizes[i] = size;
  }
  if (!fits) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "single operator: offsets and sizes do not fit the input");
  }
  return replace(inputs_, index, view, offset);
}

const aclScalar* Operands::one() {
  int64_t value = 1;
  if (one_ == nullptr) one_ = aclCreateScalar(&value, ACL_INT64);
  return one_;
}

const aclIntArray* Operands::array(const std::vector<int64_t>& values) {
  arrays_.push_back(aclCreateIntArray(values.data(), values.size()));
  return arrays_.back();
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
