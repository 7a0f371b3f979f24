// How well boxes agree: generalised, distance and complete intersection over union.
// Composed of PyTorch's operators, which differentiate them.

#include <ATen/ops/atan.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <torch/library.h>

#include <numbers>
#include <vector>

#include "torch_npu/csrc/aten/checked_calls.h"
#include "torch_npu/csrc/aten/custom_arguments.h"

namespace torch_npu {

namespace {

using at::Tensor;

constexpr double kTiny = 1e-9;  // against division by zero

struct Corners {
  Tensor x1, y1, x2, y2;

  Tensor width() const { return x2.sub(x1); }
  Tensor height() const { return y2.sub(y1); }
};

// Of (4, n): corners, or centre, width and height if `centred`. The first result's boxes lie along
// the last dimension, the second's along the first if all are to meet all.
Corners cornersOf(const Tensor& boxes, bool centred, bool upright) {
  const Tensor wide = boxes.to(at::kFloat);
  std::vector<Tensor> parts = wide.unbind(0);
  for (Tensor& part : parts) part = part.unsqueeze(upright ? 1 : 0);
  if (!centred) {
    return {parts[0], parts[1], parts[2], parts[3]};
  }
  const Tensor half_width = parts[2].div(2), half_height = parts[3].div(2);
  return {parts[0].sub(half_width), parts[1].sub(half_height), parts[0].add(half_width),
          parts[1].add(half_height)};
}

struct Pairs {
  Corners own, truth;
  Tensor overlap;  // over the union
  Tensor whole;    // the union
  Tensor enclosing_width, enclosing_height;

  // The squared distance of the centres over the squared diagonal of the enclosing box.
  Tensor distance() const {
    const Tensor x = truth.x1.add(truth.x2).sub(own.x1).sub(own.x2);
    const Tensor y = truth.y1.add(truth.y2).sub(own.y1).sub(own.y2);
    const Tensor diagonal = enclosing_width.square().add(enclosing_height.square()).add(kTiny);
    return x.square().add(y.square()).div(4).div(diagonal);
  }
};

Pairs pairsOf(const char* op, const Tensor& boxes, const Tensor& truth, bool centred, bool all,
              int64_t mode) {
  checkOneOf(op, "mode", mode, {0});
  TORCH_CHECK(boxes.dim() == 2 && boxes.sym_size(0) == 4 && truth.dim() == 2 &&
                  truth.sym_size(0) == 4 && (all || boxes.sym_size(1) == truth.sym_size(1)),
              op, ": expected boxes of (4, n), as many of each without is_cross, but got ",
              boxes.sizes(), " and ", truth.sizes());
  Pairs pairs{cornersOf(boxes, centred, false), cornersOf(truth, centred, all), {}, {}, {}, {}};
  const Corners &a = pairs.own, &b = pairs.truth;
  const Tensor width = at::minimum(a.x2, b.x2).sub(at::maximum(a.x1, b.x1)).clamp_min(0);
  const Tensor height = at::minimum(a.y2, b.y2).sub(at::maximum(a.y1, b.y1)).clamp_min(0);
  const Tensor common = width.mul(height);
  pairs.whole = a.width().mul(a.height()).add(b.width().mul(b.height())).sub(common).add(kTiny);
  pairs.overlap = common.div(pairs.whole);
  pairs.enclosing_width = at::maximum(a.x2, b.x2).sub(at::minimum(a.x1, b.x1));
  pairs.enclosing_height = at::maximum(a.y2, b.y2).sub(at::minimum(a.y1, b.y1));
  return pairs;
}

Tensor giou(const Tensor& self, const Tensor& gtboxes, bool trans, bool is_cross, int64_t mode) {
  const Pairs pairs = pairsOf("npu_giou", self, gtboxes, trans, is_cross, mode);
  const Tensor enclosing = pairs.enclosing_width.mul(pairs.enclosing_height).add(kTiny);
  // Upright, as the card gives it.
  return pairs.overlap.sub(enclosing.sub(pairs.whole).div(enclosing)).t().to(self.dtype());
}

Tensor diou(const Tensor& self, const Tensor& gtboxes, bool trans, bool is_cross, int64_t mode) {
  const Pairs pairs = pairsOf("npu_diou", self, gtboxes, trans, is_cross, mode);
  return pairs.overlap.sub(pairs.distance()).to(self.dtype());
}

// The result, and the difference of the angles that the shapes' diagonals have.
std::tuple<Tensor, Tensor> ciouWithAngle(const Tensor& self, const Tensor& gtboxes, bool trans,
                                         bool is_cross, int64_t mode, bool /*atan_sub_flag*/) {
  const Pairs pairs = pairsOf("npu_ciou", self, gtboxes, trans, is_cross, mode);
  const auto angle = [](const Corners& box) {
    return at::atan(box.width().div(box.height().add(kTiny)));
  };
  const Tensor difference = angle(pairs.truth).sub(angle(pairs.own));
  const Tensor shape = difference.square().mul(4 / (std::numbers::pi * std::numbers::pi));
  // The weight of the shapes' difference counts as a constant in the derivative.
  const Tensor weight =
      shape.detach().div(shape.detach().sub(pairs.overlap.detach()).add(1 + kTiny));
  return {pairs.overlap.sub(pairs.distance()).sub(weight.mul(shape)).to(self.dtype()),
          difference.to(self.dtype())};
}

Tensor ciou(const Tensor& self, const Tensor& gtboxes, bool trans, bool is_cross, int64_t mode,
            bool atan_sub_flag) {
  return std::get<0>(ciouWithAngle(self, gtboxes, trans, is_cross, mode, atan_sub_flag));
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def(
      "npu_giou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> "
      "Tensor",
      checked<&giou>());
  m.def(
      "npu_diou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=False, int mode=0) -> "
      "Tensor",
      checked<&diou>());
  m.def(
      "_npu_ciou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, "
      "bool atan_sub_flag=False) -> (Tensor, Tensor)",
      checked<&ciouWithAngle>());
  m.def(
      "npu_ciou(Tensor self, Tensor gtboxes, bool trans=False, bool is_cross=True, int mode=0, "
      "bool atan_sub_flag=False) -> Tensor",
      checked<&ciou>());
}

}  // namespace torch_npu
