// Ascend's own operators that PyTorch's operators say in full. Autograd, fake tensors and dispatch
// come with those.

#include <ATen/ExpandUtils.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/mish_backward.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/silu_backward.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <torch/library.h>

#include "torch_npu/csrc/aten/checked_calls.h"
#include "torch_npu/csrc/aten/custom_arguments.h"

namespace torch_npu {

namespace {

using at::IntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

// --- products -------------------------------------------------------------------------------

Tensor linear(const Tensor& input, const Tensor& weight, const OptionalTensor& bias) {
  return at::linear(input, weight, bias);
}

std::tuple<Tensor, Tensor> linearBackward(const Tensor& grad, const Tensor& input,
                                          const Tensor& weight) {
  const Tensor rows = grad.reshape_symint({-1, grad.sym_size(-1)});
  return {at::matmul(grad, weight),
          at::matmul(rows.t(), input.reshape_symint({-1, input.sym_size(-1)}))};
}

Tensor bmm(const Tensor& self, const Tensor& mat2, IntArrayRef output_sizes) {
  const Tensor product = at::matmul(self, mat2);
  return output_sizes.empty() ? product : product.reshape(output_sizes);
}

// --- moving data ----------------------------------------------------------------------------

std::vector<int64_t> inverse(IntArrayRef perm) {
  std::vector<int64_t> result(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) {
    const int64_t dim = at::maybe_wrap_dim(perm[i], static_cast<int64_t>(perm.size()));
    result[static_cast<size_t>(dim)] = static_cast<int64_t>(i);
  }
  return result;
}

Tensor confusionTranspose(const Tensor& self, IntArrayRef perm, IntArrayRef shape,
                          bool transpose_first) {
  const Tensor result =
      transpose_first ? self.permute(perm).reshape(shape) : self.reshape(shape).permute(perm);
  return result.contiguous();
}

// `transpose_first` is the opposite of the forward pass's, `shape` that of its input.
Tensor confusionTransposeBackward(const Tensor& grad, IntArrayRef perm, c10::SymIntArrayRef shape,
                                  bool transpose_first) {
  if (transpose_first) {
    return grad.permute(inverse(perm)).reshape_symint(shape);
  }
  std::vector<c10::SymInt> permuted;
  for (const int64_t dim : perm) {
    permuted.push_back(
        shape[static_cast<size_t>(at::maybe_wrap_dim(dim, static_cast<int64_t>(shape.size())))]);
  }
  return grad.reshape_symint(permuted).permute(inverse(perm)).contiguous();
}

Tensor transpose(const Tensor& self, IntArrayRef perm, bool /*require_contiguous*/) {
  return self.permute(perm).contiguous();
}

Tensor broadcast(const Tensor& self, IntArrayRef size) { return self.expand(size).contiguous(); }

Tensor reshape(const Tensor& self, IntArrayRef shape, bool /*can_refresh*/) {
  return self.reshape(shape).clone();
}

Tensor slice(const Tensor& self, IntArrayRef offsets, IntArrayRef size) {
  TORCH_CHECK(static_cast<int64_t>(offsets.size()) == self.dim() && offsets.size() == size.size(),
              "npu_slice: expected an offset and a size for each of ", self.dim(), " dimensions");
  Tensor result = self;
  for (size_t dim = 0; dim < offsets.size(); ++dim) {
    result = result.narrow(static_cast<int64_t>(dim), offsets[dim], size[dim]);
  }
  return result.contiguous();
}

Tensor castTo(const Tensor& self, at::ScalarType dtype) { return self.to(dtype); }

Tensor cast(const Tensor& self, int64_t dtype, std::optional<int64_t> input_dtype) {
  checkMissing("npu_dtype_cast", "input_dtype", input_dtype);
  return self.to(scalarType("npu_dtype_cast", dtype));
}

Tensor castBackward(const Tensor& grad, at::ScalarType dtype, std::optional<int64_t> grad_dtype,
                    std::optional<int64_t> input_dtype) {
  checkMissing("npu_dtype_cast_backward", "input_dtype", input_dtype);
  static_cast<void>(grad_dtype);
  return grad.to(dtype);
}

Tensor& castInplace(Tensor& self, const Tensor& src) { return self.copy_(src); }

Tensor& one(Tensor& self) { return self.fill_(1); }

// --- writing to places ----------------------------------------------------------------------

Tensor& scatterNdUpdateInplace(Tensor& self, const Tensor& indices, const Tensor& updates) {
  TORCH_CHECK(indices.dim() >= 1 && indices.sym_size(-1) >= 1 && indices.sym_size(-1) <= self.dim(),
              "npu_scatter_nd_update_: expected the last dimension of indices from 1 to ",
              self.dim(), ", but got indices ", indices.sizes());
  const int64_t places = indices.sym_size(-1).guard_int(__FILE__, __LINE__);
  c10::SymDimVector sizes(indices.sym_sizes().begin(), indices.sym_sizes().end() - 1);
  for (int64_t dim = places; dim < self.dim(); ++dim) sizes.push_back(self.sym_size(dim));
  TORCH_CHECK(updates.sym_sizes() == c10::SymIntArrayRef(sizes),
              "npu_scatter_nd_update_: expected updates of ", c10::SymIntArrayRef(sizes),
              ", but got ", updates.sizes());
  c10::List<OptionalTensor> columns;
  for (const Tensor& column : indices.to(at::kLong).unbind(-1)) {
    columns.push_back(column);
  }
  return self.index_put_(columns, updates);
}

Tensor scatterNdUpdate(const Tensor& self, const Tensor& indices, const Tensor& updates) {
  Tensor result = self.clone();
  return scatterNdUpdateInplace(result, indices, updates);
}

// The tokens' rows of a cache (blocks, block size, heads, size); slots below 0 are left out.
void writeSlots(Tensor& cache, const Tensor& tokens, const Tensor& slots) {
  const Tensor flat = slots.flatten().to(at::kLong);
  const Tensor wanted = flat.ge(0).nonzero().flatten();
  Tensor rows = cache.view({cache.size(0) * cache.size(1), -1});
  rows.index_copy_(0, flat.index_select(0, wanted),
                   tokens.reshape({flat.numel(), -1}).index_select(0, wanted).to(cache.dtype()));
}

void reshapeAndCache(const Tensor& key, const Tensor& value, Tensor& key_cache, Tensor& value_cache,
                     const Tensor& slot_indices) {
  writeSlots(key_cache, key, slot_indices);
  writeSlots(value_cache, value, slot_indices);
}

// --- activations ----------------------------------------------------------------------------

Tensor gelu(const Tensor& self, std::string_view approximate) {
  return at::gelu(self, approximate);
}

Tensor geluBackward(const Tensor& grad, const Tensor& self, std::string_view approximate) {
  return at::gelu_backward(grad, self, approximate);
}

Tensor silu(const Tensor& self) { return at::silu(self); }

Tensor& siluInplace(Tensor& self) { return at::silu_(self); }

Tensor siluBackward(const Tensor& grad, const Tensor& x0, const Tensor& /*x1: the result*/) {
  return at::silu_backward(grad, x0);
}

Tensor mish(const Tensor& self) { return at::mish(self); }

Tensor mishBackward(const Tensor& grad, const Tensor& input) {
  return at::mish_backward(grad, input);
}

Tensor layerNormEval(const Tensor& input, IntArrayRef normalized_shape,
                     const OptionalTensor& weight, const OptionalTensor& bias, double eps) {
  return at::layer_norm(input, normalized_shape, weight, bias, eps);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> crossEntropyLoss(
    const Tensor& input, const Tensor& target, const OptionalTensor& weight,
    std::string_view reduction, int64_t ignore_index, double label_smoothing,
    double lse_square_scale_for_zloss, bool return_zloss) {
  constexpr const char* kOp = "npu_cross_entropy_loss";
  TORCH_CHECK_NOT_IMPLEMENTED(lse_square_scale_for_zloss == 0 && !return_zloss, kOp,
                              ": zloss is not supported; leave its arguments out");
  TORCH_CHECK_VALUE(reduction == "mean" || reduction == "sum" || reduction == "none", kOp,
                    ": expected reduction 'mean', 'sum' or 'none', but got '", reduction, "'");
  TORCH_CHECK(input.dim() == 2 && target.dim() == 1 && input.sym_size(0) == target.sym_size(0), kOp,
              ": expected input of (N, C) and target of (N), but got ", input.sizes(), " and ",
              target.sizes());
  const int64_t number = reduction == "mean"  ? at::Reduction::Mean
                         : reduction == "sum" ? at::Reduction::Sum
                                              : at::Reduction::None;
  const OptionalTensor own = given(weight) ? weight->to(input.dtype()) : OptionalTensor();
  const Tensor loss =
      at::cross_entropy_loss(input, target, own, number, ignore_index, label_smoothing);
  const Tensor none = at::empty({0}, input.options());
  return {loss.dim() == 0 ? loss.unsqueeze(0) : loss, at::log_softmax(input.detach(), 1), none,
          none};
}

// What CANN puts in the place of a hidden score.
constexpr double kHiddenScore = -10000.0;

Tensor scaledMaskedSoftmax(const Tensor& x, const Tensor& mask, const at::Scalar& scale,
                           bool fixed_triu_mask) {
  TORCH_CHECK_NOT_IMPLEMENTED(!fixed_triu_mask,
                              "npu_scaled_masked_softmax: fixed_triu_mask True is not supported; "
                              "give the mask");
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "npu_scaled_masked_softmax: expected a mask of bool, but got ", mask.scalar_type());
  return x.to(at::kFloat).mul(scale).masked_fill(mask, kHiddenScore).softmax(-1).to(x.dtype());
}

Tensor scaledMaskedSoftmaxBackward(const Tensor& y_grad, const Tensor& y, const Tensor& mask,
                                   const at::Scalar& scale, bool /*fixed_triu_mask*/) {
  const Tensor weighted = y_grad.to(at::kFloat).mul(y);
  return weighted.sub(y.to(at::kFloat).mul(weighted.sum(-1, /*keepdim=*/true)))
      .mul(scale)
      .masked_fill(mask, 0)
      .to(y_grad.dtype());
}

// --- sampling, boxes ------------------------------------------------------------------------

Tensor areas(const Tensor& boxes) {
  return boxes.select(-1, 2)
      .sub(boxes.select(-1, 0))
      .mul(boxes.select(-1, 3).sub(boxes.select(-1, 1)));
}

// (rows, columns): intersection over union, or over the row's area, of boxes (x1, y1, x2, y2).
Tensor overlaps(const Tensor& rows, const Tensor& columns, bool over_rows = false) {
  const Tensor a = rows.to(at::kFloat).unsqueeze(1);
  const Tensor b = columns.to(at::kFloat).unsqueeze(0);
  const Tensor low = at::maximum(a.narrow(-1, 0, 2), b.narrow(-1, 0, 2));
  const Tensor high = at::minimum(a.narrow(-1, 2, 2), b.narrow(-1, 2, 2));
  const Tensor common = high.sub(low).clamp_min(0).prod(-1);
  const Tensor whole = over_rows ? areas(a) : areas(a).add(areas(b)).sub(common);
  return common.div(whole.masked_fill(whole.eq(0), 1));
}

Tensor iouNamed(const char* op, const Tensor& bboxes, const Tensor& gtboxes, int64_t mode) {
  checkOneOf(op, "mode", mode, {0, 1});
  TORCH_CHECK(bboxes.dim() == 2 && bboxes.sym_size(1) == 4 && gtboxes.dim() == 2 &&
                  gtboxes.sym_size(1) == 4,
              op, ": expected boxes of (count, 4), but got ", bboxes.sizes(), " and ",
              gtboxes.sizes());
  return overlaps(gtboxes, bboxes, /*over_rows=*/mode == 1).to(bboxes.dtype());
}

Tensor iou(const Tensor& bboxes, const Tensor& gtboxes, int64_t mode) {
  return iouNamed("npu_iou", bboxes, gtboxes, mode);
}

Tensor ptiou(const Tensor& bboxes, const Tensor& gtboxes, int64_t mode) {
  return iouNamed("npu_ptiou", bboxes, gtboxes, mode);
}

// Greedy: the best box, then the best that overlaps no chosen one too much, and so on. The choice
// depends on the data and is made on the host.
std::tuple<Tensor, Tensor> nms(const Tensor& self, const Tensor& scores,
                               const at::Scalar& max_output_size, const Tensor& iou_threshold,
                               const Tensor& scores_threshold, bool pad_to_max_output_size) {
  TORCH_CHECK(
      self.dim() == 2 && self.size(1) == 4 && scores.dim() == 1 && scores.size(0) == self.size(0),
      "npu_nms_v4: expected boxes of (count, 4) and scores of (count), but got ", self.sizes(),
      " and ", scores.sizes());
  const int64_t limit = max_output_size.toLong();
  const double most = iou_threshold.item<double>();
  const double least = scores_threshold.item<double>();
  const Tensor overlap = overlaps(self, self).cpu();
  const Tensor score = scores.to(at::kDouble).cpu();
  const Tensor order = score.argsort(/*stable=*/true, 0, /*descending=*/true);
  const auto overlapping = overlap.accessor<float, 2>();
  const auto scored = score.accessor<double, 1>();
  const auto ordered = order.accessor<int64_t, 1>();
  std::vector<int64_t> chosen;
  for (int64_t i = 0; i < ordered.size(0) && static_cast<int64_t>(chosen.size()) < limit; ++i) {
    const int64_t box = ordered[i];
    const bool free = std::none_of(chosen.begin(), chosen.end(),
                                   [&](int64_t other) { return overlapping[box][other] > most; });
    if (scored[box] > least && free) chosen.push_back(box);
  }
  const auto valid = static_cast<int64_t>(chosen.size());
  if (pad_to_max_output_size) chosen.resize(static_cast<size_t>(limit), 0);
  const at::TensorOptions whole = at::dtype(at::kInt);
  return {at::tensor(chosen, whole).to(self.device()),
          at::full({}, valid, whole).to(self.device())};
}

// --- rotary positions -----------------------------------------------------------------------

Tensor turned(const Tensor& x) {
  const c10::SymInt half = x.sym_size(-1) / 2;
  return at::cat({x.narrow_symint(-1, half, half).neg(), x.narrow_symint(-1, 0, half)}, -1);
}

// Even elements first, then odd ones, then rotation by halves.
Tensor interleaveRope(const Tensor& x, const Tensor& cos, const Tensor& sin) {
  TORCH_CHECK(x.dim() == 4 && x.sym_size(-1) % 2 == 0,
              "npu_interleave_rope: expected x of (B, N, S, D) with an even D, but got ",
              x.sizes());
  const Tensor q =
      x.to(at::kFloat).unflatten_symint(-1, {x.sym_size(-1) / 2, 2}).transpose(-1, -2).flatten(-2);
  return q.mul(cos).add(turned(q).mul(sin)).to(x.dtype());
}

// How a cache is addressed and laid out.
struct CacheMode {
  bool paged;   // one slot for each token; else places within each sequence's own cache
  bool blocks;  // one slot for each block of tokens
  bool nz;      // a block's rows are cut into pieces, which lie one after another
};

CacheMode cacheMode(const char* op, std::string_view name) {
  if (name == "Norm") return {false, false, false};
  if (name == "PA" || name == "PA_BNSD") return {true, false, false};
  if (name == "PA_NZ") return {true, false, true};
  if (name == "PA_BLK_BNSD") return {true, true, false};
  if (name == "PA_BLK_NZ") return {true, true, true};
  C10_THROW_ERROR(NotImplementedError,
                  c10::str(op, ": cache_mode '", name,
                           "' is not supported; use Norm, PA, PA_BNSD, PA_NZ, PA_BLK_BNSD or "
                           "PA_BLK_NZ"));
}

// The slots of tokens (batch, length) from those of their blocks.
Tensor slotsInBlocks(const Tensor& starts, int64_t batch, int64_t length, int64_t block) {
  const int64_t blocks = (length + block - 1) / block;
  const Tensor place = at::arange(length, starts.options());
  const Tensor start = starts.view({batch, blocks}).index_select(1, place.floor_divide(block));
  return start.add(place.remainder(block)).masked_fill(start.lt(0), -1);
}

void writeCache(Tensor cache, const Tensor& tokens, const Tensor& index, CacheMode mode) {
  const int64_t piece = cache.scalar_type() == at::kChar ? 32 : 16;  // 32 bytes
  const int64_t batch = tokens.size(0);
  const int64_t width = cache.size(3);
  const Tensor values = tokens.reshape({-1, width}).to(cache.dtype());
  const Tensor places = index.to(at::kLong);
  if (!mode.paged) {
    const Tensor first = at::arange(batch, places.options()).mul(cache.size(2)).unsqueeze(1);
    Tensor rows = cache.view({batch * cache.size(2), width});
    rows.index_copy_(0, places.add(first).flatten(), values);
    return;
  }
  const int64_t block = cache.size(1);
  const Tensor slots =
      mode.blocks ? slotsInBlocks(places.flatten(), batch, tokens.size(2), block) : places;
  if (!mode.nz) {
    writeSlots(cache, values, slots);
    return;
  }
  TORCH_CHECK(width % piece == 0, "npu_kv_rmsnorm_rope_cache: expected a cache in NZ to have rows ",
              "of a multiple of ", piece, " elements, but got ", cache.sizes());
  const Tensor flat = slots.flatten();
  const Tensor wanted = flat.ge(0).nonzero().flatten();
  const Tensor chosen = flat.index_select(0, wanted);
  const Tensor pieces = cache.view({cache.size(0), width / piece, block, piece}).transpose(1, 2);
  pieces.index_put_({chosen.floor_divide(block), chosen.remainder(block)},
                    values.index_select(0, wanted).unflatten(1, {width / piece, piece}));
}

// What a cache in int8 holds of x: round(x * scale + offset).
Tensor forCache(const Tensor& x, const Tensor& cache, const OptionalTensor& scale,
                const OptionalTensor& offset) {
  constexpr const char* kOp = "npu_kv_rmsnorm_rope_cache";
  if (!given(scale)) {
    TORCH_CHECK(!given(offset) && cache.scalar_type() != at::kChar, kOp,
                ": a cache in int8 needs k_rope_scale or c_kv_scale, and an offset needs it too");
    return x;
  }
  TORCH_CHECK(cache.scalar_type() == at::kChar, kOp,
              ": expected a cache in int8 with a scale, but got ", cache.scalar_type());
  Tensor values = x.to(at::kFloat).mul(*scale);
  if (given(offset)) {
    values.add_(*offset);
  }
  return values.round_().clamp_(-128, 127);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> kvRmsNormRopeCache(
    const Tensor& kv, const Tensor& gamma, const Tensor& cos, const Tensor& sin,
    const Tensor& index, const Tensor& k_cache, const Tensor& ckv_cache,
    const OptionalTensor& k_rope_scale, const OptionalTensor& c_kv_scale,
    const OptionalTensor& k_rope_offset, const OptionalTensor& c_kv_offset, const OptionalTensor& v,
    double epsilon, std::string_view cache_mode, bool is_output_kv) {
  constexpr const char* kOp = "npu_kv_rmsnorm_rope_cache";
  checkMissing(kOp, "v", v);
  const CacheMode mode = cacheMode(kOp, cache_mode);
  const c10::SymInt size = gamma.sym_size(0);
  TORCH_CHECK(kv.dim() == 4 && kv.sym_size(-1) > size, kOp,
              ": expected kv of (B, N, S, D) with D above gamma's ", size, ", but got ",
              kv.sizes());
  const Tensor normed = kv.narrow_symint(-1, 0, size).to(at::kFloat);
  const Tensor scale = normed.square().mean(-1, /*keepdim=*/true).add(epsilon).rsqrt();
  const Tensor compressed = normed.mul(scale).mul(gamma).to(kv.dtype());
  const Tensor key = interleaveRope(kv.narrow_symint(-1, size, kv.sym_size(-1) - size), cos, sin);
  writeCache(k_cache, forCache(key, k_cache, k_rope_scale, k_rope_offset), index, mode);
  writeCache(ckv_cache, forCache(compressed, ckv_cache, c_kv_scale, c_kv_offset), index, mode);
  const Tensor none = at::empty({0}, kv.options());
  return {k_cache, ckv_cache, is_output_kv ? key : none, is_output_kv ? compressed : none};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def("npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", checked<&linear>());
  m.def("npu_linear_backward(Tensor grad, Tensor input, Tensor weight) -> (Tensor, Tensor)",
        checked<&linearBackward>());
  m.def("npu_bmmV2(Tensor self, Tensor mat2, int[] output_sizes) -> Tensor", checked<&bmm>());
  m.def(
      "npu_confusion_transpose(Tensor self, int[] perm, int[] shape, bool transpose_first) ->"
      " Tensor",
      checked<&confusionTranspose>());
  m.def(
      "npu_confusion_transpose_backward(Tensor grad, int[] perm, SymInt[] shape, bool "
      "transpose_first) -> Tensor",
      checked<&confusionTransposeBackward>());
  m.def("npu_transpose(Tensor self, int[] perm, bool require_contiguous=True) -> Tensor",
        checked<&transpose>());
  m.def("npu_broadcast(Tensor self, int[] size) -> Tensor", checked<&broadcast>());
  m.def("npu_reshape(Tensor self, int[] shape, bool can_refresh=False) -> Tensor",
        checked<&reshape>());
  m.def("npu_slice(Tensor self, int[] offsets, int[] size) -> Tensor", checked<&slice>());
  m.def("_npu_dtype_cast(Tensor self, ScalarType dtype) -> Tensor", checked<&castTo>());
  m.def("npu_dtype_cast(Tensor self, int dtype, int? input_dtype=None) -> Tensor",
        checked<&cast>());
  m.def(
      "npu_dtype_cast_backward(Tensor grad, ScalarType dtype, int? grad_dtype=None, int? "
      "input_dtype=None) -> Tensor",
      checked<&castBackward>());
  m.def("npu_dtype_cast_(Tensor(a!) self, Tensor src) -> Tensor(a!)", checked<&castInplace>());
  m.def("one_(Tensor(a!) self) -> Tensor(a!)", checked<&one>());
  m.def("npu_scatter_nd_update_(Tensor(a!) self, Tensor indices, Tensor updates) -> Tensor(a!)",
        checked<&scatterNdUpdateInplace>());
  m.def("npu_scatter_nd_update(Tensor self, Tensor indices, Tensor updates) -> Tensor",
        checked<&scatterNdUpdate>());
  m.def("npu_gelu(Tensor self, *, str approximate='none') -> Tensor", checked<&gelu>());
  m.def(
      "npu_gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none') -> "
      "Tensor",
      checked<&geluBackward>());
  m.def("npu_silu(Tensor self) -> Tensor", checked<&silu>());
  m.def("npu_silu_(Tensor(a!) self) -> Tensor(a!)", checked<&siluInplace>());
  m.def("npu_silu_backward(Tensor grad_output, Tensor x0, Tensor x1) -> Tensor",
        checked<&siluBackward>());
  m.def("npu_mish(Tensor self) -> Tensor", checked<&mish>());
  m.def("npu_mish_backward(Tensor grad, Tensor input) -> Tensor", checked<&mishBackward>());
  m.def(
      "npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor?"
      " bias=None, float eps=1e-05) -> Tensor",
      checked<&layerNormEval>());
  m.def(
      "npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool "
      "fixed_triu_mask=False) -> Tensor",
      checked<&scaledMaskedSoftmax>());
  m.def(
      "npu_scaled_masked_softmax_backward(Tensor y_grad, Tensor y, Tensor mask, Scalar scale,"
      " bool fixed_triu_mask) -> Tensor",
      checked<&scaledMaskedSoftmaxBackward>());
  m.def(
      "npu_cross_entropy_loss(Tensor input, Tensor target, Tensor? weight=None, str "
      "reduction='mean', int ignore_index=-100, float label_smoothing=0.0, float "
      "lse_square_scale_for_zloss=0.0, bool return_zloss=False) -> (Tensor, Tensor, Tensor, "
      "Tensor)",
      checked<&crossEntropyLoss>());
  m.def("npu_iou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor", checked<&iou>());
  m.def("npu_ptiou(Tensor bboxes, Tensor gtboxes, int mode=0) -> Tensor", checked<&ptiou>());
  m.def(
      "npu_nms_v4(Tensor self, Tensor scores, Scalar max_output_size, Tensor iou_threshold, "
      "Tensor scores_threshold, bool pad_to_max_output_size=False) -> (Tensor, Tensor)",
      checked<&nms>());
  m.def("npu_interleave_rope(Tensor x, Tensor cos, Tensor sin) -> Tensor",
        checked<&interleaveRope>());
  m.def(
      "npu_kv_rmsnorm_rope_cache(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor "
      "index, Tensor k_cache, Tensor ckv_cache, *, Tensor? k_rope_scale=None, Tensor? "
      "c_kv_scale=None, Tensor? k_rope_offset=None, Tensor? c_kv_offset=None, Tensor? v=None,"
      " float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False) -> (Tensor, "
      "Tensor, Tensor, Tensor)",
      checked<&kvRmsNormRopeCache>());
}

TORCH_LIBRARY_FRAGMENT(atb, m) {
  m.def(
      "_npu_reshape_and_cache(Tensor key, Tensor value, Tensor(a!) key_cache, "
      "Tensor(b!) value_cache, Tensor slot_indices) -> ()",
      checked<&reshapeAndCache>());
}

}  // namespace torch_npu
