#include "aclnn/kernels/variants.h"

#include <ATen/WrapDimUtils.h>
#include <ATen/ops/_cdist_backward.h>
#include <ATen/ops/_linalg_svd.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/eq.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/log.h>
#include <ATen/ops/log_sigmoid.h>
#include <ATen/ops/max.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/scatter_reduce.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "aclnn/kernels/compute_type.h"
#include "aclnn/kernels/random.h"

namespace softcann::aclnn {

namespace {

std::string_view reductionName(int64_t reduce) {
  static constexpr std::string_view kNames[] = {"", "sum", "prod", "amax", "amin", "mean"};
  TORCH_CHECK(reduce >= 1 && reduce <= 5, "there is no scatter reduction ", reduce);
  return kNames[reduce];
}

std::vector<int64_t> allButChannels(const at::Tensor& x) {
  TORCH_CHECK(x.dim() >= 2, "expected at least 2 dimensions, got ", x.dim());
  std::vector<int64_t> dims;
  for (int64_t dim = 0; dim < x.dim(); ++dim) {
    if (dim != 1) dims.push_back(dim);
  }
  return dims;
}

}  // namespace

at::Generator generatorIn(const at::Tensor& seed, const at::Tensor& offset, uint64_t more) {
  return generatorAt(static_cast<uint64_t>(seed.item().toLong()),
                     static_cast<uint64_t>(offset.item().toLong()) + more);
}

void maxAlong(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& out,
              at::Tensor& indices) {
  if (indices.scalar_type() == at::kLong) {
    at::max_out(out, indices, self, dim, keepdim);
    return;
  }
  const auto [values, positions] = at::max(self, dim, keepdim);
  out.copy_(values);
  indices.copy_(positions);
}

at::Tensor indexTensor(at::IntArrayRef index) { return at::tensor(index, at::kLong); }

std::optional<double> scaleOrNone(double scale) {
  return scale > 0 ? std::optional<double>(scale) : std::nullopt;
}

void scatterReduceInto(at::Tensor& out, const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, const at::Tensor& src, int64_t reduce,
                       bool include_self) {
  if (reduce == 0) {
    out.copy_(self.scatter(dim, index, src));
  } else {
    out.copy_(at::scatter_reduce(self, dim, index, src, reductionName(reduce), include_self));
  }
}

void scatterRows(at::Tensor& var, const at::Tensor& indices, const at::Tensor& updates) {
  const int64_t depth = indices.size(-1);
  TORCH_CHECK(depth <= var.dim(), "an index of ", depth, " numbers into ", var.dim(),
              " dimensions");
  c10::List<std::optional<at::Tensor>> columns;
  for (int64_t i = 0; i < depth; ++i) columns.push_back(indices.select(-1, i).to(at::kLong));
  var.index_put_(columns, updates);
}

void gatherInto(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index) {
  TORCH_CHECK(self.dim() > 0, "expected a tensor with dimensions to take rows from");
  dim = at::maybe_wrap_dim(dim, self.dim());
  std::vector<int64_t> shape = self.sizes().vec();
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, index.sizes().begin(), index.sizes().end());
  out.copy_(self.index_select(dim, index.flatten()).reshape(shape));
}

at::Tensor oneHot(const at::Tensor& self, int64_t classes, const at::Tensor& on,
                  const at::Tensor& off, int64_t axis) {
  axis = at::maybe_wrap_dim(axis, self.dim() + 1);
  std::vector<int64_t> shape(static_cast<size_t>(self.dim() + 1), 1);
  shape[static_cast<size_t>(axis)] = classes;
  const at::Tensor numbers = at::arange(classes, at::kLong).reshape(shape);
  return at::where(at::eq(self.to(at::kLong).unsqueeze(axis), numbers), on.flatten()[0],
                   off.flatten()[0]);
}

at::Tensor repeatEach(const at::Tensor& self, const at::Tensor& repeats, int64_t dim,
                      int64_t output_size) {
  return at::repeat_interleave(self, repeats.flatten(), dim, output_size);
}

void repeatInterleaveGrad(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& repeats,
                          int64_t axis) {
  axis = at::maybe_wrap_dim(axis, grad.dim());
  const at::Tensor counts = repeats.flatten().to(at::kLong).expand({out.size(axis)});
  const at::Tensor index = at::repeat_interleave(counts, std::optional<int64_t>());
  out.zero_();
  out.copy_(at::index_add(out, axis, index, grad));
}

void roundEach(std::vector<at::Tensor>& tensors, int64_t mode) {
  for (at::Tensor& tensor : tensors) {
    switch (mode) {
      case 1:
        tensor.round_();
        break;
      case 2:
        tensor.floor_();
        break;
      case 3:
        tensor.ceil_();
        break;
      case 5:
        tensor.trunc_();
        break;
      case 7:
        tensor.frac_();
        break;
      default:
        TORCH_CHECK(false, "there is no rounding mode ", mode);
    }
  }
}

at::Tensor reducedGrad(const at::Tensor& grad, const at::Tensor& slope, int64_t reduction) {
  const at::Tensor result = grad.mul(slope);
  return reduction == 1 ? result.div(slope.numel()) : result;
}

at::Tensor binaryCrossEntropyWithLogits(const at::Tensor& self, const at::Tensor& target,
                                        const std::optional<at::Tensor>& weight,
                                        const std::optional<at::Tensor>& pos_weight,
                                        int64_t reduction) {
  const at::ScalarType type = computeType(self);
  const auto wide = [type](const std::optional<at::Tensor>& tensor) {
    return tensor ? std::optional<at::Tensor>(tensor->to(type)) : std::nullopt;
  };
  return at::binary_cross_entropy_with_logits(self.to(type), target.to(type), wide(weight),
                                              wide(pos_weight), reduction);
}

at::Tensor binaryCrossEntropyWithLogitsBackward(const at::Tensor& grad, const at::Tensor& self,
                                                const at::Tensor& target,
                                                const std::optional<at::Tensor>& weight,
                                                const std::optional<at::Tensor>& pos_weight,
                                                int64_t reduction) {
  const at::Tensor probability = at::sigmoid(self);
  at::Tensor slope;
  if (pos_weight) {
    const at::Tensor positive = pos_weight->mul(target);
    slope = positive.add(1).sub(target).mul(probability).sub(positive);
  } else {
    slope = probability.sub(target);
  }
  if (weight) slope = slope.mul(*weight);
  return reducedGrad(grad, slope, reduction);
}

at::Tensor klDivBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                         int64_t reduction, bool log_target) {
  const at::Tensor weight = log_target ? at::exp(target) : target.clamp_min(0);
  return reducedGrad(grad, weight.neg().expand_as(self), reduction);
}

at::Tensor klDivTargetBackward(const at::Tensor& grad, const at::Tensor& self,
                               const at::Tensor& target, int64_t reduction, bool log_target) {
  if (log_target) {
    return reducedGrad(grad, at::exp(target).mul(target.add(1).sub(self)), reduction);
  }
  const at::Tensor slope = at::log(target).add(1).sub(self);
  return reducedGrad(grad, at::where(target.gt(0), slope, at::zeros({}, slope.options())),
                     reduction);
}

at::Tensor unpaddedAlpha(const at::Tensor& log_alpha, at::IntArrayRef target_lengths) {
  const auto* longest = std::max_element(target_lengths.begin(), target_lengths.end());
  const int64_t length = longest == target_lengths.end() ? 0 : *longest;
  return log_alpha.narrow(-1, 0, 2 * length + 1);
}

void preluBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight,
                   at::Tensor& grad_input, at::Tensor& grad_weight) {
  at::Tensor slopes = weight;
  std::vector<int64_t> summed;
  for (int64_t dim = 0; dim < self.dim(); ++dim) {
    if (dim != 1 || weight.numel() == 1) summed.push_back(dim);
  }
  if (weight.numel() > 1) {
    TORCH_CHECK(self.dim() >= 2, "expected an input with channels for ", weight.numel(),
                " slopes, but got ", self.sizes());
    std::vector<int64_t> shape(static_cast<size_t>(self.dim()), 1);
    shape[1] = weight.numel();
    slopes = weight.reshape(shape);
  }
  const at::Tensor negative = self.le(0);
  grad_input.copy_(at::where(negative, grad.mul(slopes), grad));
  const at::Tensor each = at::where(negative, grad.mul(self), at::zeros({}, grad.options()));
  grad_weight.copy_((summed.empty() ? each : each.sum(summed)).reshape(grad_weight.sizes()));
}

void channelSums(const at::Tensor& x, at::Tensor& sum, at::Tensor& square_sum) {
  const auto dims = allButChannels(x);
  const at::Tensor wide = x.to(sum.scalar_type());
  sum.copy_(wide.sum(dims));
  square_sum.copy_(wide.square().sum(dims));
}

void gatherStatistics(const at::Tensor& total_sum, const at::Tensor& total_square_sum,
                      const at::Tensor& count, at::Tensor& running_mean, at::Tensor& running_var,
                      double momentum, double eps, at::Tensor& mean, at::Tensor& invstd) {
  const double elements = count.sum().item().toDouble();
  const int64_t channels = running_mean.numel();
  const at::Tensor average = total_sum.reshape({-1, channels}).sum(0).div(elements);
  const at::Tensor variance =
      total_square_sum.reshape({-1, channels}).sum(0).div(elements).sub(average.square());
  mean.copy_(average);
  invstd.copy_(variance.add(eps).rsqrt());
  running_mean.mul_(1 - momentum).add_(average, momentum);
  running_var.mul_(1 - momentum).add_(variance, momentum * elements / (elements - 1));
}

void svd(const at::Tensor& input, bool full_matrices, bool compute_uv, at::Tensor& sigma,
         at::Tensor& u, at::Tensor& v) {
  const auto [left, values, right] = at::_linalg_svd(input, full_matrices, compute_uv);
  sigma.copy_(values);
  if (compute_uv) {
    u.copy_(left);
    v.copy_(right.mH());
  }
}

double distancePower(double p) { return p < 0 ? std::numeric_limits<double>::infinity() : p; }

void expandedCdistBackward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                           const at::Tensor& cdist, double p, at::Tensor& out) {
  TORCH_CHECK(x1.dim() >= 3 && x2.sizes() == x1.sizes() && grad.sizes() == x1.sizes() &&
                  cdist.sizes() == x1.sizes(),
              "CdistGrad: expected four tensors of one shape of three dimensions or more");
  const int64_t columns = x1.size(-1);
  const auto pairs = [&](const at::Tensor& x) { return x.reshape({-1, 1, columns}); };
  const auto numbers = [&](const at::Tensor& x) { return pairs(x).narrow(2, 0, 1).contiguous(); };
  const at::Tensor each =
      at::_cdist_backward(numbers(grad), pairs(x1), pairs(x2), distancePower(p), numbers(cdist));
  out.copy_(each.reshape(x1.sizes()).sum(-2));
}

void fillDropoutMask(at::Tensor& mask, at::IntArrayRef shape, double p, at::Generator generator) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  const int64_t bits = c10::multiply_integers(shape);
  TORCH_CHECK(mask.numel() * 8 >= bits, "a mask of ", mask.numel(), " bytes has no room for ", bits,
              " bits");
  at::Tensor kept = at::zeros({mask.numel() * 8}, at::kByte);
  kept.narrow(0, 0, bits).bernoulli_(1 - p, std::move(generator));
  const at::Tensor shifts = at::arange(8, at::kByte);
  mask.copy_(kept.reshape({-1, 8}).bitwise_left_shift(shifts).sum(1).reshape(mask.sizes()));
}

void applyDropoutMask(at::Tensor& out, const at::Tensor& self, const at::Tensor& mask, double p) {
  TORCH_CHECK(mask.numel() * 8 >= self.numel(), "a mask of ", mask.numel(),
              " bytes has no bit for each of ", self.numel(), " elements");
  const at::Tensor shifts = at::arange(8, at::kByte);
  const at::Tensor bits =
      mask.flatten().view(at::kByte).unsqueeze(1).bitwise_right_shift(shifts).bitwise_and(1);
  const at::Tensor kept = bits.flatten().narrow(0, 0, self.numel()).reshape(self.sizes());
  const at::Tensor result = self.mul(kept.to(self.scalar_type()));
  out.copy_(p < 1 ? result.mul(1 / (1 - p)) : result);
}

}  // namespace softcann::aclnn
