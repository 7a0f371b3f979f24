#include "aclnn/core/limits.h"

namespace softcann::aclnn {

namespace {

template <class Values>
void append(c10::SmallVector<double, 4>& numbers, const Values& values) {
  for (const auto value : values) numbers.push_back(static_cast<double>(value));
}

}  // namespace

void Operand::add(const aclTensor* tensor) {
  if (tensor == nullptr) return;
  tensors.push_back(&tensor->desc);
  formats.push_back(tensor->format);
  dtypes.push_back(tensor->desc.dtype);
}

void Operand::add(const aclScalar* value) {
  scalar = true;
  if (value == nullptr) return;
  dtypes.push_back(value->value.type());
  if (!value->value.isComplex()) numbers.push_back(value->value.toDouble());
}

Operand::Operand(const char* name, const aclTensor* tensor) : name(name), given(tensor != nullptr) {
  add(tensor);
}

Operand::Operand(const char* name, const aclTensorList* list) : name(name), given(list != nullptr) {
  if (!given) return;
  for (const aclTensor* tensor : list->tensors) add(tensor);
}

Operand::Operand(const char* name, const aclScalar* value) : name(name), given(value != nullptr) {
  add(value);
}

Operand::Operand(const char* name, const aclScalarList* list) : name(name), given(list != nullptr) {
  scalar = true;
  if (!given) return;
  for (const aclScalar* value : list->scalars) add(value);
}

Operand::Operand(const char* name, const aclIntArray* array) : name(name), given(array != nullptr) {
  if (given) append(numbers, array->values);
}

Operand::Operand(const char* name, const aclFloatArray* array)
    : name(name), given(array != nullptr) {
  if (given) append(numbers, array->values);
}

Operand::Operand(const char* name, const aclBoolArray* array)
    : name(name), given(array != nullptr) {
  if (given) append(numbers, array->values);
}

Operand::Operand(const char* name, aclDataType dtype) : name(name) {
  if (const auto known = toScalarType(dtype)) dtypes.push_back(*known);
}

Operand::Operand(const char* name, const char* value) : name(name), given(value != nullptr) {
  if (given) text = value;
}

Operand::Operand(const char* name, double value) : name(name) { numbers.push_back(value); }

}  // namespace softcann::aclnn
