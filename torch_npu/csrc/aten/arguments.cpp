#include "torch_npu/csrc/aten/arguments.h"

#include <ATen/AccumulateType.h>
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/min.h>
#include <ATen/ops/range.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "torch_npu/csrc/aten/structured.h"

namespace torch_npu {

std::vector<int64_t> allDims(const at::Tensor& tensor) {
  std::vector<int64_t> dims(static_cast<size_t>(tensor.dim()));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<int64_t> orAllDims(at::OptionalIntArrayRef dims, const at::Tensor& tensor) {
  return dims.has_value() ? dims->vec() : allDims(tensor);
}

std::vector<int64_t> optionalArray(std::optional<int64_t> value) {
  return value ? std::vector<int64_t>{*value} : std::vector<int64_t>{};
}

std::vector<at::Scalar> numberList(std::optional<at::ArrayRef<double>> numbers) {
  return numbers ? std::vector<at::Scalar>(numbers->begin(), numbers->end())
                 : std::vector<at::Scalar>();
}

int64_t roundingModeNumber(std::optional<std::string_view> mode) {
  if (!mode.has_value()) {
    return 0;
  }
  if (*mode == "trunc") {
    return 1;
  }
  TORCH_CHECK(*mode == "floor",
              "div expected rounding_mode to be one of None, 'trunc', or 'floor' ", "but found '",
              *mode, "'");
  return 2;
}

int64_t scatterReduceNumber(std::string_view reduce) {
  TORCH_CHECK(reduce == "add" || reduce == "multiply",
              "reduce argument must be either add or multiply.");
  return reduce == "add" ? 1 : 2;
}

int64_t divisorNumber(std::optional<int64_t> divisor) {
  TORCH_CHECK(!divisor.has_value() || *divisor != 0, "divisor must be not zero");
  return divisor.value_or(0);
}

int64_t qrModeNumber(std::string_view mode) {
  if (mode == "reduced") {
    return 0;
  }
  return mode == "complete" ? 1 : 2;  // at::meta has refused what is neither of these nor "r"
}

int64_t geluNumber(std::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh",
              "approximate argument must be either none or tanh.");
  return approximate == "tanh" ? 1 : 0;
}

at::Tensor onDevice(const at::Tensor& tensor, const at::Tensor& self) {
  return tensor.device().is_cpu() ? tensor.to(self.device()) : tensor;
}

namespace {

bool isMask(const at::Tensor& index) {
  return index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
}

}  // namespace

c10::List<std::optional<at::Tensor>> onDevice(const c10::List<std::optional<at::Tensor>>& indices,
                                              const at::Tensor& self) {
  std::vector<at::Tensor> moved;
  bool has_empty_vector = false;
  bool has_mask = false;
  for (const std::optional<at::Tensor>& index : indices) {
    const bool is_given = index.has_value() && index->defined();
    moved.push_back(is_given ? onDevice(*index, self) : at::Tensor());
    has_empty_vector |= is_given && index->dim() == 1 && index->numel() == 0;
    has_mask |= is_given && isMask(*index);
  }
  // Beside others an empty vector of self's dtype is null in aclnnIndex and aclnnIndexPutImpl.
  if (has_empty_vector && !has_mask && at::isIntegralType(self.scalar_type(), false)) {
    moved = at::expand_outplace(moved);
  }
  c10::List<std::optional<at::Tensor>> result;
  for (const at::Tensor& index : moved) {
    result.push_back(index.defined() ? std::optional<at::Tensor>(index) : std::nullopt);
  }
  return result;
}

void resizeTo(at::Tensor& out, at::IntArrayRef sizes) {
  checkWritable(out);
  at::native::resize_output(out, sizes);
  at::assert_no_internal_overlap(out);
}

void resizeLike(at::Tensor& out, const at::Tensor& tensor) { resizeTo(out, tensor.sizes()); }

int64_t arangeLength(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                     const at::Tensor& out) {
  TORCH_CHECK(step.toDouble() != 0, "step must be nonzero");
  if (out.scalar_type() == at::kLong) {
    // Exact where doubles are not: integers beyond 2^53.
    const int64_t by = step.to<int64_t>();
    TORCH_CHECK_VALUE(by != 0, "step must be nonzero");
    const int64_t span = end.to<int64_t>() - start.to<int64_t>();
    TORCH_CHECK((by > 0) == (span > 0) || span == 0,
                "upper bound and lower bound inconsistent with step sign");
    return (span + by - (by > 0 ? 1 : -1)) / by;
  }
  const double first = start.toDouble();
  const double last = end.toDouble();
  const double by = step.toDouble();
  TORCH_CHECK(std::isfinite(first) && std::isfinite(last), "unsupported range: ", first, " -> ",
              last);
  TORCH_CHECK((by > 0 && last >= first) || (by < 0 && last <= first),
              "upper bound and lower bound inconsistent with step sign");
  const double length = std::ceil((last - first) / by);
  TORCH_CHECK(length >= 0 && length <= static_cast<double>(INT64_MAX),
              "invalid size, possible overflow?");
  return static_cast<int64_t>(length);
}

std::array<int64_t, 2> eyeSizes(int64_t n, int64_t m) {
  TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
  TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
  return {n, m};
}

int64_t rangeLength(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step,
                    const at::Tensor& out) {
  at::Tensor meta = at::empty({0}, out.options().device(at::kMeta));
  return at::range_out(meta, start, end, step).numel();
}

int64_t triangleSize(int64_t rows, int64_t columns, int64_t diagonal) {
  TORCH_CHECK(rows >= 0, "row must be non-negative, got", rows);
  TORCH_CHECK(columns >= 0, "col must be non-negative, got", columns);
  int64_t size = 0;
  for (int64_t row = 0; row < rows; ++row) {
    size += std::clamp<int64_t>(row + diagonal + 1, 0, columns);
  }
  return size;
}

int64_t repeatedLength(const at::Tensor& repeats, std::optional<int64_t> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  TORCH_CHECK(repeats.scalar_type() == at::kLong || repeats.scalar_type() == at::kInt,
              "repeats has to be Long or Int tensor");
  if (output_size.has_value()) {
    return *output_size;
  }
  if (repeats.numel() == 0) {
    return 0;
  }
  TORCH_CHECK(at::min(repeats).item<int64_t>() >= 0, "repeats can not be negative");
  return at::sum(repeats).item<int64_t>();
}

int64_t checkedSteps(int64_t steps) {
  TORCH_CHECK(steps >= 0, "number of steps must be non-negative");
  return steps;
}

int64_t checkedRandperm(int64_t n, const at::Tensor& out) {
  TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
  TORCH_CHECK(n == 0 || at::isFloatingType(out.scalar_type()) || out.scalar_type() == at::kLong ||
                  n <= (out.scalar_type() == at::kInt     ? int64_t{INT32_MAX}
                        : out.scalar_type() == at::kShort ? int64_t{INT16_MAX}
                        : out.scalar_type() == at::kByte  ? int64_t{UINT8_MAX}
                                                          : int64_t{INT8_MAX}),
              "n is too large for result tensor type: '", out.toString(), "'");
  return n;
}

void checkNoHalfToFloat(const char* name, bool half_to_float) {
  TORCH_CHECK(!half_to_float, name, " with half to float conversion is not supported on npu");
}

void checkSameType(at::ScalarType input_type, const at::Tensor& output) {
  TORCH_CHECK(input_type == output.scalar_type(),
              "expected input and output of one dtype on npu, but got ", input_type, " and ",
              output.scalar_type());
}

namespace {

void checkChannels(const char* name, const std::optional<at::Tensor>& tensor, int64_t channels) {
  if (tensor.has_value() && tensor->defined()) {
    TORCH_CHECK(tensor->numel() == channels, name, " should contain ", channels, " elements not ",
                tensor->numel());
  }
}

}  // namespace

void checkBatchNorm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias,
                    const std::optional<at::Tensor>& running_mean,
                    const std::optional<at::Tensor>& running_var, bool training) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm: expected at least 2 dimensions, got ", input.dim());
  const int64_t channels = input.size(1);
  const bool tracked = running_mean.has_value() && running_mean->defined() &&
                       running_var.has_value() && running_var->defined();
  TORCH_CHECK(training || tracked,
              "running_mean and running_var must be defined in evaluation mode");
  checkChannels("weight", weight, channels);
  checkChannels("bias", bias, channels);
  checkChannels("running_mean", running_mean, channels);
  checkChannels("running_var", running_var, channels);
}

void checkChannels(const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "batch_norm: expected at least 2 dimensions, got ", input.dim());
}

void checkLayerNorm(const at::Tensor& input, at::IntArrayRef normalized_shape,
                    const std::optional<at::Tensor>& weight,
                    const std::optional<at::Tensor>& bias) {
  const auto dims = static_cast<int64_t>(normalized_shape.size());
  TORCH_CHECK(dims >= 1, "Expected normalized_shape to be at least 1-dimensional, i.e., ",
              "containing at least one element, but got normalized_shape = ", normalized_shape);
  for (const auto& [name, parameter] : {std::pair("weight", weight), std::pair("bias", bias)}) {
    TORCH_CHECK(
        !parameter.has_value() || !parameter->defined() || parameter->sizes() == normalized_shape,
        "Expected ", name, " to be of same shape as normalized_shape, but got ", name, " of shape ",
        parameter->sizes(), " and normalized_shape = ", normalized_shape);
  }
  TORCH_CHECK(input.dim() >= dims &&
                  input.sizes().slice(static_cast<size_t>(input.dim() - dims)) == normalized_shape,
              "Given normalized_shape=", normalized_shape, ", expected input with shape [*, ",
              normalized_shape, "], but got input of size", input.sizes());
}

void checkNotEmpty(const char* name, const at::Tensor& self) {
  TORCH_CHECK(self.numel() > 0, name,
              "(): Expected reduction dim to be specified for input.numel() == 0. ",
              "Specify the reduction dim with the 'dim' argument.");
}

void checkVectors(const char* name, const at::Tensor& vec1, const at::Tensor& vec2) {
  TORCH_CHECK(vec1.dim() == 1 && vec2.dim() == 1, name, ": Expected 1-D argument vec1 and vec2, ",
              "but got ", vec1.dim(), "-D and ", vec2.dim(), "-D");
}

void checkMatrix(const char* name, const at::Tensor& self) {
  TORCH_CHECK(self.dim() == 2, name, ": expected a matrix, but got tensor with dim ", self.dim());
}

void checkMask(const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_select: expected BoolTensor for mask, but got ", mask.toString());
}

void checkExpands(const at::Tensor& self, at::IntArrayRef sizes) {
  TORCH_CHECK(at::is_expandable_to(self.sizes(), sizes), "The expanded size of the tensor ", sizes,
              " must match the existing size ", self.sizes());
}

namespace {

void checkFillMask(const at::Tensor& mask) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_fill_ only supports boolean masks, but got mask with dtype ",
              mask.scalar_type());
}

}  // namespace

void checkMaskedFill(const at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
  checkFillMask(mask);
  TORCH_CHECK(self.is_complex() || !value.is_complex(), "value cannot be converted to type ",
              self.scalar_type(), " without overflow");
}

void checkMaskedFill(const at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
  checkFillMask(mask);
  // Throws where the value does not fit, as the kernel's own conversion would.
  at::scalar_tensor(value, self.options().device(at::kCPU));
}

void checkNormal(const at::Tensor& self, double std) {
  TORCH_CHECK(std >= 0, "normal expects std >= 0.0, but found std ", std);
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()) || self.is_complex(),
                              "\"normal_\" not implemented for '", self.scalar_type(), "'");
}

void checkUniform(const at::Tensor& self, double from, double to) {
  TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from,
              " > to=", to);
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()) || self.is_complex(),
                              "\"uniform_\" not implemented for '", self.scalar_type(), "'");
}

void checkRandom(const at::Tensor& self, int64_t from, std::optional<int64_t> to) {
  TORCH_CHECK(!to.has_value() || from < *to,
              "random_ expects 'from' to be less than 'to', but got from=", from,
              " >= to=", to.value_or(0));
  TORCH_CHECK(!self.is_complex(), "random_ is not implemented for complex tensors");
}

void checkExponential(const at::Tensor& self, double lambd) {
  TORCH_CHECK(lambd > 0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
  TORCH_CHECK(at::isFloatingType(self.scalar_type()),
              "Exponential distribution is a continuous probability distribution. dtype must be a "
              "floating point but you specified ",
              self.scalar_type());
}

void checkGeometric(double p) {
  TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
}

void checkCauchy(const at::Tensor& self, double sigma) {
  TORCH_CHECK(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
  TORCH_CHECK(at::isFloatingType(self.scalar_type()),
              "Cauchy distribution is a continuous probability distribution. dtype must be a "
              "floating point but you specified ",
              self.scalar_type());
}

void checkLogNormal(const at::Tensor& self, double std) {
  TORCH_CHECK(std > 0, "log_normal_ expects std > 0.0, but found std=", std);
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(self.scalar_type()),
                              "\"log_normal_cpu\" not implemented for '", self.scalar_type(), "'");
}

void checkProbability(double p) {
  TORCH_CHECK(p >= 0 && p <= 1, "expected a probability between 0 and 1, but got ", p);
}

void checkMultinomial(const at::Tensor& self, int64_t samples, bool replacement) {
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(
      at::isFloatingType(self.scalar_type()),
      "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  TORCH_CHECK(samples > 0, "cannot sample n_sample <= 0 samples");
  constexpr int64_t kMaxCategories = int64_t{1} << 24;  // a float32 counts no further
  TORCH_CHECK(self.size(-1) <= kMaxCategories, "number of categories cannot exceed 2^24");
  TORCH_CHECK(replacement || samples <= self.size(-1),
              "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
}

void checkBinomial(const at::Tensor& count, const at::Tensor& prob) {
  for (const auto& [name, tensor] : {std::pair("count", &count), std::pair("prob", &prob)}) {
    TORCH_CHECK_VALUE(at::isFloatingType(tensor->scalar_type()),
                      "binomial only supports floating-point dtypes for ", name,
                      ", got: ", tensor->scalar_type());
  }
}

void checkWindow(const char* name, int64_t length, std::optional<at::ScalarType> dtype,
                 std::optional<at::Layout> layout) {
  TORCH_CHECK(layout.value_or(at::kStrided) == at::kStrided, name,
              " is not implemented for sparse types, got: ", *layout);
  TORCH_CHECK(!dtype || at::isFloatingType(*dtype), name,
              " expects floating point dtypes, got: ", *dtype);
  TORCH_CHECK(length >= 0, name,
              " requires non-negative window_length, got window_length=", length);
}

void checkIntegralOut(const char* name, const at::Tensor& out) {
  TORCH_CHECK(out.scalar_type() == at::kLong, name,
              " expects Long tensor out, got: ", out.scalar_type());
}

void checkHistogramdd(const at::Tensor& self, size_t bins) {
  TORCH_CHECK(self.dim() >= 2, "torch.histogramdd: input tensor should have at least 2 dimensions");
  TORCH_CHECK(
      static_cast<int64_t>(bins) == self.size(-1),
      "histogramdd: The size of bins must be equal to the innermost dimension of the input.");
}

void checkComplexOut(const at::Tensor& out, const at::Tensor& real, const at::Tensor& imag) {
  const at::ScalarType type = real.scalar_type();
  TORCH_CHECK(type == at::kHalf || type == at::kFloat || type == at::kDouble,
              "Expected both inputs to be Half, Float or Double tensors but got ", type, " and ",
              imag.scalar_type());
  TORCH_CHECK(type == imag.scalar_type(), "Expected object of scalar type ", type,
              " but got scalar type ", imag.scalar_type(), " for second argument");
  TORCH_CHECK(out.scalar_type() == c10::toComplexType(type), "Expected object of scalar type ",
              c10::toComplexType(type), " but got scalar type ", out.scalar_type(),
              " for argument 'out'");
}

void checkFloating(const char* kernel, const at::Tensor& tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(at::isFloatingType(tensor.scalar_type()), '"', kernel,
                              "\" not implemented for '", tensor.scalar_type(), "'");
}

void checkLapack(const char* kernel, const at::Tensor& tensor) {
  const at::ScalarType type = c10::toRealValueType(tensor.scalar_type());
  TORCH_CHECK_NOT_IMPLEMENTED(type == at::kFloat || type == at::kDouble, '"', kernel,
                              "\" not implemented for '", tensor.scalar_type(), "'");
}

void checkQuantizedRange(int64_t quant_min, int64_t quant_max) {
  TORCH_CHECK(quant_min <= quant_max,
              "`quant_min` should be less than or equal to `quant_max`, got ", quant_min, " and ",
              quant_max);
}

void checkQuantizedRange(int64_t quant_min, int64_t quant_max, int64_t zero_point) {
  checkQuantizedRange(quant_min, quant_max);
  TORCH_CHECK(quant_min <= zero_point && zero_point <= quant_max,
              "`zero_point` must be between `quant_min` and `quant_max`.");
}

void checkRangeWithZero(int64_t quant_min, int64_t quant_max) {
  TORCH_CHECK(quant_min <= 0 && quant_max >= 0,
              "the range from `quant_min` to `quant_max` should include 0, got ", quant_min,
              " and ", quant_max);
}

void checkChannelQuantization(const at::Tensor& self, const at::Tensor& scale,
                              const at::Tensor& zero_point, int64_t axis, int64_t quant_min,
                              int64_t quant_max) {
  checkQuantizedRange(quant_min, quant_max);
  TORCH_CHECK(scale.dim() == 1, "scale should be a 1-D tensor");
  TORCH_CHECK(zero_point.dim() == 1, "zero point should be a 1-D tensor");
  TORCH_CHECK(scale.numel() == zero_point.numel(),
              "scale and zero-point need to have the same dimensions");
  TORCH_CHECK_INDEX(axis < self.dim(), "Dimension out of range (expected to be in range of [0, ",
                    self.dim() - 1, "], but got ", axis, ")");
  TORCH_CHECK(axis >= 0, "`axis` must be between 0 and number of dimensions of input");
  TORCH_CHECK(scale.numel() == self.size(axis),
              "dimensions of scale and zero-point are not consistent with input tensor");
}

void sizeObserver(const at::Tensor& self, const at::Tensor& running_min,
                  const at::Tensor& running_max, const at::Tensor& scale,
                  const at::Tensor& zero_point, int64_t channel_axis, bool per_channel) {
  if (!per_channel) return;
  TORCH_CHECK(channel_axis < self.dim(),
              "Error in fused_moving_avg_obs_fake_quant: ch_axis must be < self.dim()");
  if (running_min.numel() != 0) return;
  const int64_t channels = self.size(channel_axis);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  running_min.resize_({channels}).fill_(kInfinity);
  running_max.resize_({channels}).fill_(-kInfinity);
  scale.resize_({channels});
  zero_point.resize_({channels});
}

void checkApart(const at::Tensor& out, std::initializer_list<const at::Tensor*> inputs) {
  at::assert_no_internal_overlap(out);
  for (const at::Tensor* input : inputs) at::assert_no_overlap(out, *input);
}

}  // namespace torch_npu
