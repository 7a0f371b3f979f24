#include "aclnn/kernels/moe.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

namespace {

// Indices of the k largest, the first of equals first.
at::Tensor largest(const at::Tensor& values, int64_t k) {
  TORCH_CHECK(k >= 1 && k <= values.size(-1), "expected k from 1 to ", values.size(-1),
              ", but got ", k);
  return std::get<1>(values.sort(/*stable=*/true, /*dim=*/-1, /*descending=*/true))
      .narrow(-1, 0, k);
}

// Scores with all groups but the k_group best at -inf.
at::Tensor withinBestGroups(const at::Tensor& scores, const GatingOptions& options) {
  TORCH_CHECK(options.group_count >= 1 && scores.size(-1) % options.group_count == 0,
              "expected the number of experts, ", scores.size(-1),
              ", to be a multiple of group_count, ", options.group_count);
  TORCH_CHECK(options.k_group >= 1 && options.k_group <= options.group_count,
              "expected k_group from 1 to ", options.group_count, ", but got ", options.k_group);
  if (options.k_group == options.group_count) {
    return scores;
  }
  const at::Tensor groups = scores.unflatten(-1, {options.group_count, -1});
  const at::Tensor worth =
      options.group_select_mode == 0
          ? groups.amax(-1)
          : std::get<0>(groups.topk(std::min<int64_t>(2, groups.size(-1)))).sum(-1);
  const at::Tensor best = largest(worth, options.k_group);
  const at::Tensor lost = at::ones_like(worth, at::kBool).scatter(-1, best, false);
  return groups.masked_fill(lost.unsqueeze(-1), -std::numeric_limits<double>::infinity())
      .flatten(-2);
}

at::Tensor positionsOf(const at::Tensor& order) {
  return at::zeros(order.sizes(), order.options())
      .scatter_(0, order, at::arange(order.numel(), order.options()));
}

// Rows of `source` at `positions`; zeros where a position is not one of a row.
at::Tensor rowsAt(const at::Tensor& source, const at::Tensor& positions) {
  const at::Tensor absent = positions.lt(0).logical_or_(positions.ge(source.size(0)));
  if (source.size(0) == 0) {
    return at::zeros({positions.numel(), source.size(1)}, source.options());
  }
  return source.index_select(0, positions.masked_fill(absent, 0))
      .masked_fill_(absent.unsqueeze(1), 0);
}

}  // namespace

void gatingTopK(const at::Tensor& x, OptionalTensorRef bias, const GatingOptions& options,
                OptionalTensorRef ids, OptionalTensorRef table, at::Tensor& y, at::Tensor& expert,
                const at::Tensor& norm_out) {
  TORCH_CHECK(options.norm_type == 0 || options.norm_type == 1,
              "expected norm_type 0 or 1, but got ", options.norm_type);
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor weights = options.norm_type == 0 ? wide.softmax(-1) : wide.sigmoid();
  const at::Tensor scores = bias.has_value() ? weights.add(bias->to(at::kFloat)) : weights;
  TORCH_CHECK(ids.has_value() == table.has_value(), "expected input_ids and tid2eid together");
  at::Tensor chosen;
  if (ids.has_value()) {
    TORCH_CHECK(ids->dim() == 1 && ids->size(0) == x.size(0) && table->dim() == 2 &&
                    table->size(1) == options.k,
                "expected input_ids of (rows) and tid2eid of (ids, k), but got ", ids->sizes(),
                " and ", table->sizes());
    chosen = table->index_select(0, ids->to(at::kLong)).to(at::kLong);
  } else {
    chosen = largest(withinBestGroups(scores, options), options.k);
  }
  at::Tensor values = weights.gather(-1, chosen);
  if (options.norm_type == 1 || options.renorm == 1) {
    values = values.div(values.sum(-1, /*keepdim=*/true).add_(options.epsilon));
  }
  y.copy_(values.mul(options.scaling));
  expert.copy_(chosen);
  if (norm_out.defined() && norm_out.numel() > 0) {
    norm_out.copy_(weights);
  }
}

void gatingTopKGrad(const at::Tensor& norm, const at::Tensor& grad_y, const at::Tensor& expert,
                    int64_t renorm, int64_t norm_type, double scaling, double epsilon,
                    at::Tensor& grad_x) {
  TORCH_CHECK(norm_type == 0 || norm_type == 1, "expected norm_type 0 or 1, but got ", norm_type);
  TORCH_CHECK(grad_y.sizes() == expert.sizes(), "expected grad_y and expertIdx of the same sizes, ",
              "but got ", grad_y.sizes(), " and ", expert.sizes());
  const at::Tensor weights = norm.to(at::kFloat);
  const at::Tensor chosen = expert.to(at::kLong);
  at::Tensor grad = grad_y.to(at::kFloat).mul(scaling);
  if (norm_type == 1 || renorm == 1) {
    const at::Tensor values = weights.gather(-1, chosen);
    const at::Tensor sum = values.sum(-1, /*keepdim=*/true).add_(epsilon);
    grad = grad.sub(grad.mul(values).sum(-1, /*keepdim=*/true).div_(sum)).div_(sum);
  }
  const at::Tensor all = at::zeros_like(weights).scatter_add_(-1, chosen, grad);
  grad_x.copy_(norm_type == 1 ? all.mul(weights).mul_(weights.neg().add_(1))
                              : all.sub(all.mul(weights).sum(-1, /*keepdim=*/true)).mul_(weights));
}

void gatingTopKSoftmaxV2(const at::Tensor& x, OptionalTensorRef finished, int64_t k, int64_t renorm,
                         at::Tensor& y, at::Tensor& expert, const at::Tensor& softmax_out) {
  TORCH_CHECK(renorm == 0 || renorm == 1, "expected renorm 0 or 1, but got ", renorm);
  const at::Tensor wide = x.to(at::kFloat);
  const at::Tensor weights = renorm == 0 ? wide.softmax(-1) : wide;
  at::Tensor chosen = largest(weights, k);
  const at::Tensor values = weights.gather(-1, chosen);
  y.copy_(renorm == 0 ? values : values.softmax(-1));
  if (finished.has_value()) {
    chosen = chosen.masked_fill(finished->unsqueeze(-1), x.size(-1));
  }
  expert.copy_(chosen);
  if (softmax_out.defined()) {
    softmax_out.copy_(weights);
  }
}

void gatingTopKSoftmax(const at::Tensor& x, OptionalTensorRef finished, int64_t k, at::Tensor& y,
                       at::Tensor& expert, at::Tensor& row) {
  gatingTopKSoftmaxV2(x, finished, k, /*renorm=*/0, y, expert, at::Tensor());
  const int64_t rows = x.numel() / std::max<int64_t>(1, x.size(-1));
  row.copy_(at::arange(rows * k, row.options()).view({k, rows}).t().reshape(row.sizes()));
}

void initRouting(const at::Tensor& x, const at::Tensor& row, const at::Tensor& expert,
                 int64_t active, at::Tensor& expanded_x, at::Tensor& expanded_row,
                 at::Tensor& expanded_expert) {
  const auto [experts, order] =
      expert.flatten().sort(/*stable=*/std::optional<bool>(true), /*dim=*/0, /*descending=*/false);
  const at::Tensor rows = row.flatten().to(at::kLong).index_select(0, order);
  expanded_expert.copy_(experts);
  expanded_row.copy_(positionsOf(rows));
  const int64_t kept = std::min(active, x.size(0)) * expert.size(-1);
  expanded_x.copy_(x.index_select(0, rows.narrow(0, 0, kept).remainder(x.size(0))));
}

namespace {

at::Tensor expertCounts(const at::Tensor& experts, const RoutingOptions& options) {
  return experts.sub(options.first).bincount({}, options.last - options.first);
}

void writeCounts(const at::Tensor& own, const RoutingOptions& options, at::Tensor& counts) {
  counts.zero_();
  if (!options.counts) {
    return;
  }
  const at::Tensor each = expertCounts(own, options);
  if (options.count_type == 0 && !options.drop_pad) {
    counts.copy_(each.cumsum(0));
  } else if (options.count_type == 2) {
    const at::Tensor present = each.nonzero().flatten();
    counts.narrow(0, 0, present.numel())
        .copy_(at::stack({present.add(options.first), each.index_select(0, present)}, 1));
  } else {
    counts.copy_(each);
  }
}

// Each row as int8, and the scale that brings it back (dynamic mode).
void quantizeRows(at::Tensor& rows, const at::Tensor& experts, OptionalTensorRef scale,
                  OptionalTensorRef offset, const RoutingOptions& options, at::Tensor& row_scale) {
  if (options.quant_mode == 0) {
    TORCH_CHECK(scale.has_value() && offset.has_value(),
                "static quantisation needs scale and offset");
    rows = rows.to(at::kFloat).mul(scale->to(at::kFloat)).add_(offset->to(at::kFloat));
  } else {
    rows = rows.to(at::kFloat);
    if (scale.has_value()) {
      rows = scale->size(0) == 1 ? rows.mul(*scale)
                                 : rows.mul(scale->index_select(0, experts.sub(options.first)));
    }
    row_scale = rows.abs().amax(-1).div_(127);
    const at::Tensor divisor = row_scale.masked_fill(row_scale.eq(0), 1).unsqueeze(-1);
    rows = rows.div(divisor);
  }
  rows = rows.round().clamp_(-128, 127);
}

}  // namespace

void initRoutingV3(const at::Tensor& x, const at::Tensor& expert, OptionalTensorRef scale,
                   OptionalTensorRef offset, const RoutingOptions& options, at::Tensor& expanded_x,
                   at::Tensor& expanded_row, at::Tensor& counts, at::Tensor& expanded_scale) {
  TORCH_CHECK_NOT_IMPLEMENTED(options.quant_mode >= -1 && options.quant_mode <= 1, "quant_mode ",
                              options.quant_mode, " is not supported; use -1, 0 or 1");
  const int64_t k = expert.size(-1);
  const at::Tensor flat = expert.flatten().to(at::kLong);
  const at::Tensor outside = flat.lt(options.first).logical_or_(flat.ge(options.last));
  const auto [sorted, order] =
      flat.masked_fill(outside, std::numeric_limits<int64_t>::max())
          .sort(/*stable=*/std::optional<bool>(true), /*dim=*/0, /*descending=*/false);
  const int64_t own = flat.numel() - outside.sum().item<int64_t>();
  at::Tensor experts = sorted.narrow(0, 0, own);
  at::Tensor sources = order.narrow(0, 0, own);
  writeCounts(experts, options, counts);

  at::Tensor places;  // rows of expanded_x, seen as two-dimensional
  if (options.drop_pad) {
    const at::Tensor each = expertCounts(experts, options);
    const at::Tensor starts = each.cumsum(0).sub_(each);
    const at::Tensor rank =
        at::arange(own, experts.options()).sub_(starts.index_select(0, experts.sub(options.first)));
    const at::Tensor fits = rank.lt(options.capacity).nonzero().flatten();
    experts = experts.index_select(0, fits);
    sources = sources.index_select(0, fits);
    places = experts.mul(options.capacity).add_(rank.index_select(0, fits));
  } else {
    const int64_t room = std::min(own, expanded_x.size(0));
    places = at::arange(room, experts.options());
  }
  if (options.scatter_index) {
    expanded_row.fill_(-1);
    expanded_row.narrow(0, 0, own).copy_(order.narrow(0, 0, own));
  } else {
    const at::Tensor all = options.drop_pad ? places : at::arange(own, experts.options());
    expanded_row.fill_(-1).index_copy_(0, sources, all.to(expanded_row.scalar_type()));
  }
  const at::Tensor moved = sources.narrow(0, 0, places.numel());
  const at::Tensor rows_of = moved.div(k, "floor");
  at::Tensor rows = x.index_select(0, rows_of);
  expanded_scale.zero_();
  if (options.quant_mode >= 0) {
    at::Tensor row_scale;
    quantizeRows(rows, experts.narrow(0, 0, places.numel()), scale, offset, options, row_scale);
    if (row_scale.defined()) {
      expanded_scale.flatten().index_copy_(0, places, row_scale);
    }
  } else if (scale.has_value()) {
    expanded_scale.flatten().index_copy_(
        0, places, scale->flatten().index_select(0, rows_of).to(expanded_scale.scalar_type()));
  }
  expanded_x.zero_()
      .view({-1, x.size(1)})
      .index_copy_(0, places, rows.to(expanded_x.scalar_type()));
}

void finalizeRouting(const at::Tensor& expanded, const at::Tensor& positions,
                     OptionalTensorRef skip1, OptionalTensorRef skip2, OptionalTensorRef bias,
                     OptionalTensorRef scales, OptionalTensorRef expert, int64_t drop_pad_mode,
                     at::Tensor& out) {
  TORCH_CHECK(drop_pad_mode >= 0 && drop_pad_mode <= 3,
              "expected drop_pad_mode from 0 to 3, but "
              "got ",
              drop_pad_mode);
  const int64_t rows = out.size(0);
  const int64_t width = out.size(1);
  const int64_t k = positions.numel() / std::max<int64_t>(1, rows);
  const at::Tensor order =
      drop_pad_mode >= 2 ? positions.view({rows, k}) : positions.view({k, rows}).t();
  at::Tensor values =
      rowsAt(expanded.reshape({-1, width}).to(at::kFloat), order.reshape({-1}).to(at::kLong))
          .view({rows, k, width});
  if (bias.has_value()) {
    TORCH_CHECK(expert.has_value(), "bias needs the experts of the rows");
    values.add_(bias->to(at::kFloat)
                    .index_select(0, expert->flatten().to(at::kLong))
                    .view({rows, k, width}));
  }
  if (scales.has_value()) {
    values.mul_(scales->to(at::kFloat).view({rows, k, 1}));
  }
  at::Tensor sum = values.sum(1);
  if (skip1.has_value()) sum.add_(skip1->to(at::kFloat));
  if (skip2.has_value()) sum.add_(skip2->to(at::kFloat));
  out.copy_(sum);
}

void refusePadded(bool padded_mode) {
  TORCH_CHECK_NOT_IMPLEMENTED(!padded_mode,
                              "padded_mode is not supported; give one expert per token and choice");
}

void tokenPermute(const at::Tensor& tokens, const at::Tensor& indices, at::Tensor& permuted,
                  at::Tensor& sorted_indices) {
  const int64_t top_k = indices.dim() == 1 ? 1 : indices.size(1);
  const at::Tensor order = std::get<1>(indices.flatten().sort(/*stable=*/std::optional<bool>(true),
                                                              /*dim=*/0, /*descending=*/false));
  sorted_indices.copy_(positionsOf(order));
  permuted.copy_(tokens.index_select(0, order.narrow(0, 0, permuted.size(0)).div(top_k, "floor")));
}

void tokenPermuteGrad(const at::Tensor& grad, const at::Tensor& sorted_indices, int64_t top_k,
                      at::Tensor& out) {
  out.copy_(rowsAt(grad.to(computeType(grad)), sorted_indices.flatten().to(at::kLong))
                .view({-1, top_k, grad.size(1)})
                .sum(1));
}

void tokenUnpermute(const at::Tensor& permuted, const at::Tensor& sorted_indices,
                    OptionalTensorRef probs, at::Tensor& out) {
  const at::ScalarType type = computeType(permuted);
  const int64_t top_k = probs.has_value() ? probs->size(1) : 1;
  at::Tensor rows = rowsAt(permuted.to(type), sorted_indices.flatten().to(at::kLong))
                        .view({-1, top_k, permuted.size(1)});
  if (probs.has_value()) {
    rows.mul_(probs->to(type).unsqueeze(-1));
  }
  out.copy_(rows.sum(1));
}

void tokenUnpermuteGrad(OptionalTensorRef permuted, const at::Tensor& grad,
                        const at::Tensor& sorted_indices, OptionalTensorRef probs,
                        at::Tensor& grad_permuted, const at::Tensor& grad_probs) {
  const at::ScalarType type = computeType(grad);
  const int64_t top_k = probs.has_value() ? probs->size(1) : 1;
  const at::Tensor positions = sorted_indices.flatten().to(at::kLong);
  at::Tensor spread = grad.to(type).repeat_interleave(top_k, 0);
  if (grad_probs.defined() && probs.has_value()) {
    TORCH_CHECK(permuted.has_value(), "expected the tokens for the gradient of probs");
    grad_probs.copy_(
        rowsAt(permuted->to(type), positions).mul_(spread).sum(-1).view(probs->sizes()));
  }
  if (probs.has_value()) {
    spread.mul_(probs->to(type).reshape({-1, 1}));
  }
  // Dropped positions meet in one row more, which is cut off.
  const int64_t rows = grad_permuted.size(0);
  const at::Tensor places =
      positions.masked_fill(positions.lt(0).logical_or(positions.ge(rows)), rows);
  grad_permuted.copy_(at::zeros({rows + 1, grad_permuted.size(1)}, spread.options())
                          .index_add_(0, places, spread)
                          .narrow(0, 0, rows));
}

}  // namespace softcann::aclnn
