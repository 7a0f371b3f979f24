// How operators that are not structured make their outputs: the shape functions that the operator
// table names.
#pragma once

#include <ATen/core/DimVector.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch_npu::shapes {

// A tensor of the same sizes and memory format, of its dtype or another.
at::Tensor like(const at::Tensor& tensor, std::optional<at::ScalarType> dtype = std::nullopt);
// A tensor of the same sizes and dtype, contiguous in the format that its strides suggest: channels
// last, or else plainly.
at::Tensor formatted(const at::Tensor& tensor);
at::Tensor formattedIf(bool wanted, const at::Tensor& tensor);
// A plainly contiguous one.
at::Tensor contiguous(const at::Tensor& tensor);
at::Tensor contiguousIf(bool wanted, const at::Tensor& tensor);
at::Tensor contiguousIf(bool wanted, const std::optional<at::Tensor>& tensor);
// What an elementwise kernel gives for these operands: their broadcast shape, laid out in memory as
// they are. Any of them may be a CPU scalar; `dtype` is the result's.
at::Tensor elementwise(at::TensorList operands, at::ScalarType dtype);
// A contiguous tensor of these sizes on the tensor's device.
at::Tensor sized(at::IntArrayRef sizes, const at::Tensor& device_of,
                 std::optional<at::ScalarType> dtype = std::nullopt);
// The same for operators that take no tensor, with ATen's defaults: int64 on the current device.
at::Tensor sized(at::IntArrayRef sizes, std::optional<at::ScalarType> dtype,
                 std::optional<at::Device> device);
// like(tensor) if `wanted`, else an undefined tensor: gradients that nobody asked for.
at::Tensor likeIf(bool wanted, const at::Tensor& tensor);
// One like() for each tensor.
std::vector<at::Tensor> likeEach(at::TensorList tensors);
// Sizes with `dims` (all, if empty or missing) reduced away, or to 1 if `keepdim`.
at::Tensor reduced(const at::Tensor& tensor, at::OptionalIntArrayRef dims, bool keepdim,
                   std::optional<at::ScalarType> dtype = std::nullopt);
// The dtype and broadcast shape of two operands; either may be a CPU scalar.
at::Tensor promoted(const at::Tensor& self, const at::Tensor& other,
                    std::optional<at::ScalarType> dtype = std::nullopt);

at::Tensor promoted(const at::Tensor& self, const at::Scalar& other);
// The same for operators whose results are floating point.
at::Tensor quotient(const at::Tensor& self, const at::Scalar& other);
// where(condition, self, other); any of them may be a CPU scalar.
at::Tensor selected(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other);

// The dtype of a sum or product: the one asked for, else int64 for integers.
at::ScalarType sumType(const at::Tensor& self, std::optional<at::ScalarType> dtype);
// The dtype of an angle: real for complex, floating point for integers.
at::ScalarType angleType(const at::Tensor& self);
// A loss by its reduction's number: 0 (none) keeps the shape, others give a scalar.
at::Tensor reducedLoss(const at::Tensor& self, int64_t reduction);

// Statistics that normalisations save, in the dtype that PyTorch keeps them in.
at::Tensor batchStatistics(const at::Tensor& input, bool training);
at::Tensor layerStatistics(const at::Tensor& input, at::IntArrayRef normalized_shape);
at::Tensor groupStatistics(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                           int64_t n, int64_t groups);
// One value per channel, for gradients of weights and biases; undefined if not wanted.
at::Tensor channelsIf(bool wanted, const at::Tensor& input,
                      const std::optional<at::Tensor>& weight);
at::Tensor channels(const at::Tensor& input);
at::Tensor channelVectorIf(bool wanted, const at::Tensor& like, int64_t channels);
at::Tensor likeIf(bool wanted, const std::optional<at::Tensor>& tensor);

at::Tensor convolved(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
                     at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                     at::IntArrayRef output_padding, int64_t groups);
// The gradient of `of`, one of a convolution's input and weight: both decide about the format.
at::Tensor convolvedFromIf(bool wanted, const at::Tensor& of, const at::Tensor& input,
                           const at::Tensor& weight);
// The last dimensions of `self` replaced by `output_size`.
at::Tensor pooledTo(const at::Tensor& self, at::IntArrayRef output_size);

// Padded with a constant: two numbers for each dimension, the last one's first.
at::Tensor padded(const at::Tensor& self, at::IntArrayRef pad);
at::Tensor indexSelected(const at::Tensor& self, int64_t dim, const at::Tensor& index);
// The outer product's shape and the dtype that all three promote to.
at::Tensor outer(const at::Tensor& self, const at::Tensor& vec1, const at::Tensor& vec2);
// As many elements as the two broadcast to: the most that a mask can select.
at::Tensor maskedAtMost(const at::Tensor& self, const at::Tensor& mask);
// The sizes of `self`, or of it flattened if there is no dim.
at::DimVector flattenedUnless(const at::Tensor& self, std::optional<int64_t> dim);
// bincount's result: as long as the largest number tells, for which it waits.
at::Tensor bins(const at::Tensor& self, const std::optional<at::Tensor>& weights,
                int64_t minlength);
// histogramdd's: how many bins lie between each dimension's edges, and those edges.
at::DimVector binsBetween(at::TensorList edges);
std::vector<at::Tensor> edgesEach(const at::Tensor& self, at::IntArrayRef bins);
// geqrf's, in LAPACK's order of a matrix' elements: columns contiguous.
at::Tensor columns(const at::Tensor& self);
at::Tensor reflectors(const at::Tensor& self);
// A result as its transpose.
at::Tensor transposed(const at::Tensor& result);
at::Tensor embedded(const at::Tensor& weight, const at::Tensor& indices);
at::Tensor samples(const at::Tensor& distribution, int64_t count);
// normal()'s, which refuses deviations that are no positive real numbers as far as it sees them.
at::Tensor normal(const at::Tensor& mean, const at::Tensor& deviation);
at::Tensor normal(const at::Tensor& mean, double deviation);
at::Tensor normal(double mean, const at::Tensor& deviation);

// Results of foreach operators, tensor by tensor: promoted with a number, a number each or a tensor
// each; the same for a true division; floating point; real for complex.
std::vector<at::Tensor> promotedEach(at::TensorList self, const at::Scalar& other);
std::vector<at::Tensor> promotedEach(at::TensorList self, at::ArrayRef<at::Scalar> others);
std::vector<at::Tensor> promotedEach(at::TensorList self, at::TensorList others);
std::vector<at::Tensor> promotedEach(at::TensorList self, at::TensorList first,
                                     at::TensorList second);
std::vector<at::Tensor> promotedEach(at::TensorList self, const at::Tensor& other);
std::vector<at::Tensor> quotientEach(at::TensorList self, const at::Scalar& other);
std::vector<at::Tensor> quotientEach(at::TensorList self, at::ArrayRef<at::Scalar> others);
std::vector<at::Tensor> quotientEach(at::TensorList self, at::TensorList others);
std::vector<at::Tensor> quotientEach(at::TensorList self, const at::Tensor& other);
// Of self's dtypes, and the shapes to which they broadcast with the others.
std::vector<at::Tensor> broadcastEach(at::TensorList self, at::TensorList others);
std::vector<at::Tensor> broadcastEach(at::TensorList self, at::TensorList first,
                                      at::TensorList second);
std::vector<at::Tensor> floatEach(at::TensorList self);
std::vector<at::Tensor> realEach(at::TensorList self);
std::vector<at::Tensor> normEach(at::TensorList self, std::optional<at::ScalarType> dtype);

}  // namespace torch_npu::shapes
