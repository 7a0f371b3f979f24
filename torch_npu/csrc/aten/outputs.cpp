#include "torch_npu/csrc/aten/outputs.h"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/aminmax.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/result_type.h>

#include <algorithm>

#include "torch_npu/csrc/aten/structured.h"

namespace torch_npu::shapes {

at::Tensor like(const at::Tensor& tensor, std::optional<at::ScalarType> dtype) {
  // A fake tensor's sizes may be symbols, which empty_like() keeps.
  if (C10_LIKELY(!tensor.is_meta()) && tensor.is_contiguous()) {
    return newOutput(tensor.sizes(), {}, dtype ? tensor.options().dtype(*dtype) : tensor.options());
  }
  return dtype ? at::empty_like(tensor, tensor.options().dtype(*dtype)) : at::empty_like(tensor);
}

at::Tensor formatted(const at::Tensor& tensor) {
  return newOutput(tensor.sizes(), {},
                   tensor.options().memory_format(tensor.suggest_memory_format()));
}

at::Tensor formattedIf(bool wanted, const at::Tensor& tensor) {
  return wanted ? formatted(tensor) : at::Tensor();
}

at::Tensor contiguous(const at::Tensor& tensor) { return sized(tensor.sizes(), tensor); }

at::Tensor contiguousIf(bool wanted, const at::Tensor& tensor) {
  return wanted ? contiguous(tensor) : at::Tensor();
}

at::Tensor contiguousIf(bool wanted, const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? contiguousIf(wanted, *tensor) : at::Tensor();
}

at::Tensor elementwise(at::TensorList operands, at::ScalarType dtype) {
  const at::Tensor* device_of = &operands.front();
  bool contiguous = true;
  for (const at::Tensor& operand : operands) {
    if (!operand.device().is_cpu()) device_of = &operand;
    contiguous = contiguous && operand.is_contiguous() && operand.sizes() == operands[0].sizes();
  }
  if (contiguous) {
    return sized(device_of->sizes(), *device_of, dtype);
  }
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false).allow_cpu_scalars(true);
  config.declare_static_dtype_and_device(dtype, device_of->device());
  config.add_owned_output(at::Tensor());
  for (const at::Tensor& operand : operands) {
    config.add_const_input(operand);
  }
  return config.build().output();
}

at::Tensor sized(at::IntArrayRef sizes, const at::Tensor& device_of,
                 std::optional<at::ScalarType> dtype) {
  return newOutput(sizes, {}, device_of.options().dtype(dtype.value_or(device_of.scalar_type())));
}

at::Tensor sized(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Device> device) {
  const at::Device target = device.value_or(at::Device(at::kPrivateUse1));
  return newOutput(sizes, {}, at::TensorOptions(target).dtype(dtype.value_or(at::kLong)));
}

at::Tensor likeIf(bool wanted, const at::Tensor& tensor) {
  return wanted ? like(tensor) : at::Tensor();
}

std::vector<at::Tensor> likeEach(at::TensorList tensors) {
  std::vector<at::Tensor> result;
  result.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    result.push_back(like(tensor));
  }
  return result;
}

at::Tensor reduced(const at::Tensor& tensor, at::OptionalIntArrayRef dims, bool keepdim,
                   std::optional<at::ScalarType> dtype) {
  const auto mask = at::dim_list_to_bitset(dims, static_cast<size_t>(tensor.dim()));
  const bool all = !dims.has_value() || dims->empty();
  at::DimVector sizes;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (!all && !mask[static_cast<size_t>(dim)]) {
      sizes.push_back(tensor.size(dim));
    } else if (keepdim) {
      sizes.push_back(1);
    }
  }
  return sized(sizes, tensor, dtype);
}

at::Tensor promoted(const at::Tensor& self, const at::Tensor& other,
                    std::optional<at::ScalarType> dtype) {
  return elementwise({self, other}, dtype.value_or(at::result_type(self, other)));
}

at::Tensor promoted(const at::Tensor& self, const at::Scalar& other) {
  return like(self, at::result_type(self, other));
}

at::Tensor quotient(const at::Tensor& self, const at::Scalar& other) {
  const at::ScalarType type = at::result_type(self, other);
  return like(self, at::isIntegralType(type, /*includeBool=*/true)
                        ? c10::get_default_dtype_as_scalartype()
                        : type);
}

at::Tensor selected(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other) {
  return elementwise({condition, self, other}, at::result_type(self, other));
}

at::ScalarType sumType(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
  if (dtype.has_value()) {
    return *dtype;
  }
  const at::ScalarType type = self.scalar_type();
  return at::isIntegralType(type, /*includeBool=*/true) ? at::kLong : type;
}

at::ScalarType angleType(const at::Tensor& self) {
  const at::ScalarType type = c10::toRealValueType(self.scalar_type());
  return at::isIntegralType(type, /*includeBool=*/true) ? c10::get_default_dtype_as_scalartype()
                                                        : type;
}

at::Tensor reducedLoss(const at::Tensor& self, int64_t reduction) {
  return reduction == 0 ? like(self) : sized({}, self);
}

at::Tensor indexSelected(const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  TORCH_CHECK_INDEX(index.dim() <= 1,
                    "index_select(): Index is supposed to be a vector, but got dim: ", index.dim());
  TORCH_CHECK(self.dim() > 0 || index.numel() == 1,
              "index_select(): Index to scalar can have only 1 value, got ", index.numel(),
              " value(s)");
  const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
  at::DimVector sizes(self.sizes().begin(), self.sizes().end());
  if (!sizes.empty()) {
    sizes[static_cast<size_t>(wrapped)] = index.numel();
  }
  return sized(sizes, self);
}

at::Tensor outer(const at::Tensor& self, const at::Tensor& vec1, const at::Tensor& vec2) {
  const at::ScalarType vectors = at::result_type(vec1, vec2);
  const at::DimVector sizes{vec1.size(0), vec2.size(0)};
  return elementwise({self.expand(sizes), vec1.unsqueeze(1), vec2.unsqueeze(0)},
                     c10::promoteTypes(self.scalar_type(), vectors));
}

at::Tensor maskedAtMost(const at::Tensor& self, const at::Tensor& mask) {
  const auto sizes = at::infer_size_dimvector(self.sizes(), mask.sizes());
  return sized({c10::multiply_integers(sizes)}, self);
}

at::DimVector flattenedUnless(const at::Tensor& self, std::optional<int64_t> dim) {
  return dim.has_value() ? at::DimVector(self.sizes()) : at::DimVector{self.numel()};
}

at::Tensor bins(const at::Tensor& self, const std::optional<at::Tensor>& weights,
                int64_t minlength) {
  TORCH_CHECK(minlength >= 0, "minlength should be >= 0");
  TORCH_CHECK(self.dim() == 1 && at::isIntegralType(self.scalar_type(), /*includeBool=*/false),
              "bincount only supports 1-d non-negative integral inputs.");
  if (self.numel() == 0) {
    return sized({minlength}, self, at::kLong);
  }
  const bool weighted = weights.has_value() && weights->defined();
  TORCH_CHECK(!weighted || (weights->dim() == 1 && weights->numel() == self.numel()),
              "weights should be 1-d and have the same length as input");
  const auto [least, most] = at::aminmax(self);
  TORCH_CHECK(least.item<int64_t>() >= 0,
              "bincount only supports 1-d non-negative integral inputs.");
  const at::ScalarType type = !weighted                              ? at::kLong
                              : weights->scalar_type() == at::kFloat ? at::kFloat
                                                                     : at::kDouble;
  return sized({std::max(most.item<int64_t>() + 1, minlength)}, self, type);
}

at::DimVector binsBetween(at::TensorList edges) {
  at::DimVector sizes;
  for (const at::Tensor& edge : edges) {
    sizes.push_back(edge.numel() - 1);
  }
  return sizes;
}

std::vector<at::Tensor> edgesEach(const at::Tensor& self, at::IntArrayRef bins) {
  std::vector<at::Tensor> edges;
  for (const int64_t count : bins) {
    edges.push_back(sized({count + 1}, self));
  }
  return edges;
}

at::Tensor columns(const at::Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "torch.geqrf: input must have at least 2 dimensions.");
  at::DimVector sizes(self.sizes());
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  return sized(sizes, self).mT();
}

at::Tensor reflectors(const at::Tensor& self) {
  at::DimVector sizes(self.sizes().slice(0, static_cast<size_t>(self.dim() - 1)));
  sizes.back() = std::min(self.size(-2), self.size(-1));
  return sized(sizes, self);
}

at::Tensor transposed(const at::Tensor& result) {
  // As t(), but for the strides of a result without elements, which are the CPU's.
  return result.as_strided({result.size(1), result.size(0)}, {1, result.size(1)});
}

at::Tensor embedded(const at::Tensor& weight, const at::Tensor& indices) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  TORCH_CHECK(indices.scalar_type() == at::kLong || indices.scalar_type() == at::kInt,
              "Expected tensor for argument #1 'indices' to have one of the following scalar types:"
              " Long, Int; but got ",
              indices.toString(), " instead (while checking arguments for embedding)");
  at::DimVector sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(weight.size(1));
  return sized(sizes, weight);
}

at::Tensor samples(const at::Tensor& distribution, int64_t count) {
  at::DimVector sizes(distribution.sizes().begin(), distribution.sizes().end());
  sizes.back() = count;
  return sized(sizes, distribution, at::kLong);
}

at::Tensor normal(const at::Tensor& mean, const at::Tensor& deviation) {
  TORCH_CHECK(!deviation.is_complex(),
              "normal expects standard deviation to be non-complex, but got ",
              deviation.scalar_type());
  return sized(at::infer_size_dimvector(mean.sizes(), deviation.sizes()), mean);
}

at::Tensor normal(const at::Tensor& mean, double deviation) {
  TORCH_CHECK(deviation >= 0.0, "normal expects std >= 0.0, but found std ", deviation);
  return contiguous(mean);
}

at::Tensor normal(double /*mean*/, const at::Tensor& deviation) {
  TORCH_CHECK(!deviation.is_complex(),
              "normal expects standard deviation to be non-complex, but got ",
              deviation.scalar_type());
  return contiguous(deviation);
}

}  // namespace torch_npu::shapes
