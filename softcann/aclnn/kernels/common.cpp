#include "aclnn/kernels/common.h"

#include <ATen/ScalarOps.h>
#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/scatter.h>

namespace softcann::aclnn {

namespace {

at::Tensor newWrapped(const at::Scalar& scalar) {
  at::Tensor tensor = c10::scalar_to_tensor(scalar);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

}  // namespace

at::Tensor wrapped(const at::Scalar& scalar) {
  if (!scalar.isFloatingPoint()) {
    return newWrapped(scalar);
  }
  // Making a tensor costs as much as a small kernel; the last one serves again once nobody holds
  // it any more.
  thread_local at::Tensor reused = newWrapped(0.0);
  if (reused.use_count() > 1) {
    return newWrapped(scalar);
  }
  *static_cast<double*>(reused.mutable_data_ptr()) = scalar.toDouble();
  return reused;
}

std::optional<std::string_view> roundingMode(int64_t mode) {
  TORCH_CHECK(mode >= 0 && mode <= 2, "rounding mode is 0, 1 or 2, got ", mode);
  if (mode == 0) {
    return std::nullopt;
  }
  return mode == 1 ? "trunc" : "floor";
}

std::optional<int64_t> optionalDim(at::IntArrayRef dim) {
  TORCH_CHECK(dim.size() <= 1, "expected at most one value, got ", dim.size());
  return dim.empty() ? std::nullopt : std::optional<int64_t>(dim[0]);
}

std::optional<int64_t> optionalDivisor(int64_t divisor) {
  return divisor == 0 ? std::nullopt : std::optional<int64_t>(divisor);
}

void softmaxInto(at::Tensor& out, const at::Tensor& self, int64_t dim) {
  const at::Tensor input =
      self.scalar_type() == out.scalar_type() ? self : self.to(out.scalar_type());
  at::_softmax_out(out, input, dim, /*half_to_float=*/false);
}

void logSoftmaxInto(at::Tensor& out, const at::Tensor& self, int64_t dim) {
  const at::Tensor input =
      self.scalar_type() == out.scalar_type() ? self : self.to(out.scalar_type());
  at::_log_softmax_out(out, input, dim, /*half_to_float=*/false);
}

namespace {

template <class Source>
void scatterReducing(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                     const Source& source, int64_t reduce) {
  TORCH_CHECK(reduce >= 0 && reduce <= 2, "scatter's reduce is 0, 1 or 2, got ", reduce);
  if (reduce == 0) {
    at::scatter_out(out, self, dim, index, source);
  } else {
    at::scatter_out(out, self, dim, index, source, reduce == 1 ? "add" : "multiply");
  }
}

}  // namespace

void scatterInto(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                 const at::Tensor& src, int64_t reduce) {
  scatterReducing(out, self, dim, index, src, reduce);
}

void scatterInto(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                 const at::Scalar& value, int64_t reduce) {
  scatterReducing(out, self, dim, index, value, reduce);
}

}  // namespace softcann::aclnn
