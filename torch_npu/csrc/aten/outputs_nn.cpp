#include <ATen/AccumulateType.h>
#include <ATen/native/ConvUtils.h>

#include <algorithm>

#include "torch_npu/csrc/aten/outputs.h"
#include "torch_npu/csrc/aten/structured.h"

namespace torch_npu::shapes {

namespace {

// Reduced-precision inputs keep their statistics in float32.
at::ScalarType statisticsType(const at::Tensor& input) {
  return at::toAccumulateType(input.scalar_type(), /*is_cuda=*/true);
}

// Channels last if either of them is. The strides of vectors along one dimension say nothing.
at::MemoryFormat convolutionFormat(const at::Tensor& input, const at::Tensor& weight) {
  const at::MemoryFormat format = input.suggest_memory_format();
  return format != at::MemoryFormat::Contiguous ? format : weight.suggest_memory_format();
}

}  // namespace

at::Tensor likeIf(bool wanted, const std::optional<at::Tensor>& tensor) {
  return wanted && tensor.has_value() && tensor->defined() ? like(*tensor) : at::Tensor();
}

at::Tensor batchStatistics(const at::Tensor& input, bool training) {
  return sized({training ? input.size(1) : 0}, input, statisticsType(input));
}

at::Tensor layerStatistics(const at::Tensor& input, at::IntArrayRef normalized_shape) {
  at::DimVector sizes(input.sizes().begin(), input.sizes().end());
  for (size_t i = 0; i < normalized_shape.size(); ++i) {
    sizes[sizes.size() - 1 - i] = 1;
  }
  return sized(sizes, input, statisticsType(input));
}

at::Tensor groupStatistics(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                           int64_t n, int64_t groups) {
  const bool mixed = weight.has_value() && weight->defined();
  return sized({n, groups}, input, mixed ? weight->scalar_type() : input.scalar_type());
}

at::Tensor channelsIf(bool wanted, const at::Tensor& input,
                      const std::optional<at::Tensor>& weight) {
  if (!wanted) {
    return {};
  }
  const bool given = weight.has_value() && weight->defined();
  return sized({input.size(1)}, input, given ? weight->scalar_type() : statisticsType(input));
}

at::Tensor channels(const at::Tensor& input) {
  return sized({input.size(1)}, input, statisticsType(input));
}

at::Tensor channelVectorIf(bool wanted, const at::Tensor& like, int64_t channels) {
  return wanted ? sized({channels}, like) : at::Tensor();
}

at::Tensor convolved(const at::Tensor& input, const at::Tensor& weight, at::IntArrayRef stride,
                     at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                     at::IntArrayRef output_padding, int64_t groups) {
  const std::vector<int64_t> sizes =
      transposed
          ? at::native::conv_input_size(input.sizes(), weight.sizes(), padding, output_padding,
                                        stride, dilation, groups)
          : at::native::conv_output_size(input.sizes(), weight.sizes(), padding, stride, dilation);
  return newOutput(sizes, {}, input.options().memory_format(convolutionFormat(input, weight)));
}

at::Tensor convolvedFromIf(bool wanted, const at::Tensor& of, const at::Tensor& input,
                           const at::Tensor& weight) {
  if (!wanted) {
    return {};
  }
  return newOutput(of.sizes(), {}, of.options().memory_format(convolutionFormat(input, weight)));
}

at::Tensor padded(const at::Tensor& self, at::IntArrayRef pad) {
  const int64_t dims = self.dim();
  const auto pairs = static_cast<int64_t>(pad.size()) / 2;
  TORCH_CHECK(pad.size() % 2 == 0, "Length of pad must be even but instead it equals ", pad.size());
  TORCH_CHECK(pairs <= dims,
              "Length of pad should be no more than twice the number of dimensions of the input. "
              "Pad length is ",
              pad.size(), " while the input has ", dims, " dimensions.");
  at::DimVector sizes(self.sizes().begin(), self.sizes().end());
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const auto dim = static_cast<size_t>(dims - 1 - pair);
    const int64_t before = pad[static_cast<size_t>(2 * pair)];
    const int64_t after = pad[static_cast<size_t>(2 * pair) + 1];
    sizes[dim] += before + after;
    TORCH_CHECK(sizes[dim] >= 0, "The input size ", self.size(static_cast<int64_t>(dim)),
                ", plus negative padding ", before, " and ", after,
                " resulted in a negative output size, which is invalid. Check dimension ", dim,
                " of your input.");
  }
  if (std::all_of(pad.begin(), pad.end(), [](int64_t number) { return number <= 0; })) {
    return like(self.as_strided(sizes, self.strides()));  // a part of self, as it lies there
  }
  return newOutput(sizes, {}, self.options().memory_format(self.suggest_memory_format()));
}

at::Tensor pooledTo(const at::Tensor& self, at::IntArrayRef output_size) {
  at::DimVector sizes(self.sizes().begin(), self.sizes().end());
  TORCH_CHECK(sizes.size() > output_size.size(), "expected more than ", output_size.size(),
              " dimensions, but got an input of size ", self.sizes());
  std::copy(output_size.begin(), output_size.end(),
            sizes.end() - static_cast<int64_t>(output_size.size()));
  return newOutput(sizes, {}, self.options().memory_format(self.suggest_memory_format()));
}

}  // namespace torch_npu::shapes
