#include <ATen/ExpandUtils.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/result_type.h>

#include "torch_npu/csrc/aten/outputs.h"

namespace torch_npu::shapes {

namespace {

at::ScalarType floating(at::ScalarType type) {
  return at::isIntegralType(type, /*includeBool=*/true) ? c10::get_default_dtype_as_scalartype()
                                                        : type;
}

// One output per tensor, of the dtype that `type_of(index)` gives.
template <class TypeOf>
std::vector<at::Tensor> each(at::TensorList self, TypeOf type_of) {
  std::vector<at::Tensor> result;
  result.reserve(self.size());
  for (size_t i = 0; i < self.size(); ++i) {
    result.push_back(like(self[i], type_of(i)));
  }
  return result;
}

template <class T>
void checkLengths(at::TensorList self, const T& others) {
  TORCH_CHECK(self.size() == others.size(),
              "Tensor lists must have the same number of tensors, got ", self.size(), " and ",
              others.size());
}

// The same, each of the sizes to which the tensors in its place broadcast.
template <class TypeOf>
std::vector<at::Tensor> eachBroadcast(at::TensorList self,
                                      std::initializer_list<at::TensorList> others,
                                      TypeOf type_of) {
  for (const at::TensorList& list : others) checkLengths(self, list);
  std::vector<at::Tensor> result;
  result.reserve(self.size());
  for (size_t i = 0; i < self.size(); ++i) {
    at::DimVector sizes(self[i].sizes());
    for (const at::TensorList& list : others) {
      if (list[i].sizes() != at::IntArrayRef(sizes)) {
        sizes = at::infer_size_dimvector(sizes, list[i].sizes());
      }
    }
    result.push_back(at::IntArrayRef(sizes) == self[i].sizes() ? like(self[i], type_of(i))
                                                               : sized(sizes, self[i], type_of(i)));
  }
  return result;
}

}  // namespace

std::vector<at::Tensor> promotedEach(at::TensorList self, const at::Scalar& other) {
  return each(self, [&](size_t i) { return at::result_type(self[i], other); });
}

std::vector<at::Tensor> promotedEach(at::TensorList self, at::ArrayRef<at::Scalar> others) {
  checkLengths(self, others);
  return each(self, [&](size_t i) { return at::result_type(self[i], others[i]); });
}

std::vector<at::Tensor> promotedEach(at::TensorList self, at::TensorList others) {
  return eachBroadcast(self, {others},
                       [&](size_t i) { return at::result_type(self[i], others[i]); });
}

std::vector<at::Tensor> promotedEach(at::TensorList self, at::TensorList first,
                                     at::TensorList second) {
  return eachBroadcast(self, {first, second}, [&](size_t i) {
    at::native::ResultTypeState state;
    for (const at::Tensor* tensor : {&self[i], &first[i], &second[i]}) {
      state = at::native::update_result_type_state(*tensor, state);
    }
    return at::native::result_type(state);
  });
}

std::vector<at::Tensor> broadcastEach(at::TensorList self, at::TensorList others) {
  return eachBroadcast(self, {others}, [&](size_t i) { return self[i].scalar_type(); });
}

std::vector<at::Tensor> broadcastEach(at::TensorList self, at::TensorList first,
                                      at::TensorList second) {
  return eachBroadcast(self, {first, second}, [&](size_t i) { return self[i].scalar_type(); });
}

std::vector<at::Tensor> promotedEach(at::TensorList self, const at::Tensor& other) {
  return each(self, [&](size_t i) { return at::result_type(self[i], other); });
}

std::vector<at::Tensor> quotientEach(at::TensorList self, const at::Scalar& other) {
  return each(self, [&](size_t i) { return floating(at::result_type(self[i], other)); });
}

std::vector<at::Tensor> quotientEach(at::TensorList self, at::ArrayRef<at::Scalar> others) {
  checkLengths(self, others);
  return each(self, [&](size_t i) { return floating(at::result_type(self[i], others[i])); });
}

std::vector<at::Tensor> quotientEach(at::TensorList self, at::TensorList others) {
  return eachBroadcast(self, {others},
                       [&](size_t i) { return floating(at::result_type(self[i], others[i])); });
}

std::vector<at::Tensor> quotientEach(at::TensorList self, const at::Tensor& other) {
  return each(self, [&](size_t i) { return floating(at::result_type(self[i], other)); });
}

std::vector<at::Tensor> floatEach(at::TensorList self) {
  return each(self, [&](size_t i) { return floating(self[i].scalar_type()); });
}

std::vector<at::Tensor> realEach(at::TensorList self) {
  return each(self, [&](size_t i) { return c10::toRealValueType(self[i].scalar_type()); });
}

std::vector<at::Tensor> normEach(at::TensorList self, std::optional<at::ScalarType> dtype) {
  std::vector<at::Tensor> result;
  result.reserve(self.size());
  for (const at::Tensor& tensor : self) {
    const at::ScalarType type = dtype.value_or(tensor.scalar_type());
    result.push_back(sized({}, tensor, c10::toRealValueType(type)));
  }
  return result;
}

}  // namespace torch_npu::shapes
