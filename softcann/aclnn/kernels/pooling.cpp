#include "aclnn/kernels/pooling.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/max_pool2d_with_indices.h>
#include <ATen/ops/max_pool2d_with_indices_backward.h>

namespace softcann::aclnn {

namespace {

// A list of one or two numbers as height and width.
struct Pair {
  explicit Pair(at::IntArrayRef values, const Pair* unless_given = nullptr)
      : height(values.empty() && unless_given ? unless_given->height : values.at(0)),
        width(values.empty() && unless_given ? unless_given->width
                                             : values.at(values.size() > 1 ? 1 : 0)) {}
  int64_t height;
  int64_t width;
};

// The part of a mask that holds numbers, as (planes, outputs) of 16 bits.
at::Tensor places(const at::Tensor& mask, const at::Tensor& out) {
  const int64_t outputs = out.size(-1) * out.size(-2);
  const int64_t planes = outputs == 0 ? 0 : out.numel() / outputs;
  const at::Tensor bytes = mask.flatten();
  TORCH_CHECK(bytes.nbytes() >= static_cast<size_t>(planes * outputs * 2) && bytes.is_contiguous(),
              "the mask has no room for two bytes for each of ", planes * outputs, " outputs");
  return bytes.view(at::kByte)
      .narrow(0, 0, planes * outputs * 2)
      .view(at::kShort)
      .reshape({planes, outputs});
}

// Where each window begins in the plane: rows and columns of the first element, padding included.
struct WindowStarts {
  WindowStarts(const at::Tensor& out, const Pair& stride, const Pair& padding)
      : rows(at::arange(out.size(-2), at::kLong).mul(stride.height).sub(padding.height)),
        columns(at::arange(out.size(-1), at::kLong).mul(stride.width).sub(padding.width)) {
    rows = rows.unsqueeze(1).expand({out.size(-2), out.size(-1)}).flatten();
    columns = columns.unsqueeze(0).expand({out.size(-2), out.size(-1)}).flatten();
  }
  at::Tensor rows;
  at::Tensor columns;
};

}  // namespace

void maxPoolWithMask(const at::Tensor& self, at::IntArrayRef kernel, at::IntArrayRef stride,
                     at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                     at::Tensor& out, at::Tensor& mask) {
  const auto [result, indices] =
      at::max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode);
  out.copy_(result);
  const Pair window(kernel);
  const Pair steps(stride, &window);
  const Pair spread(dilation);
  const WindowStarts starts(result, steps, Pair(padding));
  const at::Tensor flat = indices.reshape({-1, result.size(-1) * result.size(-2)});
  const at::Tensor row = flat.div(self.size(-1), "floor").sub(starts.rows);
  const at::Tensor column = flat.remainder(self.size(-1)).sub(starts.columns);
  places(mask, result)
      .copy_(
          row.div(spread.height, "floor").mul(window.width).add(column.div(spread.width, "floor")));
}

void maxPoolWithMaskBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& mask,
                             at::IntArrayRef kernel, at::IntArrayRef stride,
                             at::IntArrayRef padding, at::IntArrayRef dilation, bool ceil_mode,
                             at::Tensor& grad_input) {
  const Pair window(kernel);
  const Pair steps(stride, &window);
  const Pair spread(dilation);
  const WindowStarts starts(grad, steps, Pair(padding));
  const at::Tensor place = places(mask, grad).to(at::kLong);
  const at::Tensor row = place.div(window.width, "floor").mul(spread.height).add(starts.rows);
  const at::Tensor column = place.remainder(window.width).mul(spread.width).add(starts.columns);
  const at::Tensor indices = row.mul(self.size(-1)).add(column).reshape(grad.sizes());
  grad_input.copy_(at::max_pool2d_with_indices_backward(grad, self, kernel, stride, padding,
                                                        dilation, ceil_mode, indices));
}

}  // namespace softcann::aclnn
