// Checks and conversions of ATen arguments that the operator table names.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace torch_npu {

// Arguments that have no meaning on npu, or that the output's dtype already carries.
template <class... Args>
void unused(const Args&...) {}

// Every dimension of the tensor: what CANN takes for a reduction to a scalar.
std::vector<int64_t> allDims(const at::Tensor& tensor);
std::vector<int64_t> orAllDims(at::OptionalIntArrayRef dims, const at::Tensor& tensor);

// No or one element, for a parameter that may be missing.
std::vector<int64_t> optionalArray(std::optional<int64_t> value);

// A number that may be missing, for a scalar that may be null.
template <class T>
std::optional<at::Scalar> optionalScalar(std::optional<T> value) {
  return value ? std::optional<at::Scalar>(*value) : std::nullopt;
}

// Numbers for a list of scalars; none for none.
std::vector<at::Scalar> numberList(std::optional<at::ArrayRef<double>> numbers);

// CANN's numbers for modes that ATen spells out.
int64_t roundingModeNumber(std::optional<std::string_view> mode);
int64_t scatterReduceNumber(std::string_view reduce);
int64_t divisorNumber(std::optional<int64_t> divisor);
int64_t qrModeNumber(std::string_view mode);
int64_t geluNumber(std::string_view approximate);

// Index tensors on the CPU may index an npu tensor; they are copied to its device.
c10::List<std::optional<at::Tensor>> onDevice(const c10::List<std::optional<at::Tensor>>& indices,
                                              const at::Tensor& self);
at::Tensor onDevice(const at::Tensor& tensor, const at::Tensor& self);

// `out` arguments of operators that are not structured.
void resizeTo(at::Tensor& out, at::IntArrayRef sizes);
void resizeLike(at::Tensor& out, const at::Tensor& tensor);

int64_t arangeLength(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                     const at::Tensor& out);
std::array<int64_t, 2> eyeSizes(int64_t n, int64_t m);
int64_t rangeLength(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                    const at::Tensor& out);
int64_t checkedSteps(int64_t steps);
int64_t checkedRandperm(int64_t n, const at::Tensor& out);

// How many elements of a rows x columns matrix lie on or below a diagonal.
int64_t triangleSize(int64_t rows, int64_t columns, int64_t diagonal);
// What repeat_interleave's repeats add up to, if the caller does not say. Waits for the device.
int64_t repeatedLength(const at::Tensor& repeats, std::optional<int64_t> output_size);

// The checks that PyTorch makes before a kernel whose arguments CANN cannot judge.
void checkNoHalfToFloat(const char* name, bool half_to_float);
void checkSameType(at::ScalarType input_type, const at::Tensor& output);
void checkBatchNorm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias,
                    const std::optional<at::Tensor>& running_mean,
                    const std::optional<at::Tensor>& running_var, bool training);
void checkChannels(const at::Tensor& input);
void checkLayerNorm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                    const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias);
void checkNotEmpty(const char* name, const at::Tensor& self);
void checkVectors(const char* name, const at::Tensor& vec1, const at::Tensor& vec2);
void checkMatrix(const char* name, const at::Tensor& self);
void checkMask(const at::Tensor& mask);
void checkExpands(const at::Tensor& self, at::IntArrayRef sizes);
void checkMaskedFill(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& value);
void checkMaskedFill(const at::Tensor& self, const at::Tensor& mask, const at::Scalar& value);
void checkWindow(const char* name, int64_t length, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout);
void checkNormal(const at::Tensor& self, double std);
void checkUniform(const at::Tensor& self, double from, double to);
void checkRandom(const at::Tensor& self, int64_t from, std::optional<int64_t> to);
void checkExponential(const at::Tensor& self, double lambd);
void checkGeometric(double p);
void checkCauchy(const at::Tensor& self, double sigma);
void checkLogNormal(const at::Tensor& self, double std);
void checkProbability(double p);
void checkMultinomial(const at::Tensor& self, int64_t samples, bool replacement);
void checkBinomial(const at::Tensor& count, const at::Tensor& prob);
void checkIntegralOut(const char* name, const at::Tensor& out);
void checkHistogramdd(const at::Tensor& self, size_t bins);
void checkComplexOut(const at::Tensor& out, const at::Tensor& real, const at::Tensor& imag);
// Dtypes that the kernel has no code for, where phase one may not try it: "kernel" is PyTorch's
// name for it.
void checkFloating(const char* kernel, const at::Tensor& tensor);
void checkLapack(const char* kernel, const at::Tensor& tensor);
// Of fake_quantize's: what of its arguments shapes and numbers tell.
void checkQuantizedRange(int64_t quant_min, int64_t quant_max);
void checkQuantizedRange(int64_t quant_min, int64_t quant_max, int64_t zero_point);
void checkRangeWithZero(int64_t quant_min, int64_t quant_max);
void checkChannelQuantization(const at::Tensor& self, const at::Tensor& scale,
                              const at::Tensor& zero_point, int64_t axis, int64_t quant_min,
                              int64_t quant_max);
// Gives the state of an observer of channels, where it has none yet, an element for each of them.
void sizeObserver(const at::Tensor& self, const at::Tensor& running_min,
                  const at::Tensor& running_max, const at::Tensor& scale,
                  const at::Tensor& zero_point, int64_t channel_axis, bool per_channel);
// Refuses an output that shares memory with itself or with one of these.
void checkApart(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs);

}  // namespace torch_npu
