#include "aclnn/kernels/attention_core.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "aclnn/kernels/compute_type.h"

namespace softcann::aclnn {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr int64_t kScoresInMemory = int64_t{1} << 24;

// A sequence in the dtype to compute in.
struct Problem {
  explicit Problem(const Sequence& given)
      : sequence(given),
        type(computeType(given.query)),
        heads(given.query.size(0)),
        queries(given.query.size(1)),
        key_heads(given.key.size(0)),
        keys(given.key.size(1)),
        query(given.query.to(type)),
        key(given.key.to(type)),
        value(given.value.to(type)) {
    TORCH_CHECK(key_heads > 0 && heads % key_heads == 0, "expected the number of query heads, ",
                heads, ", to be a multiple of the number of key heads, ", key_heads);
    TORCH_CHECK(given.value.size(0) == key_heads && given.value.size(1) == keys,
                "expected key and value of the same heads and length, but got ", given.key.sizes(),
                " and ", given.value.sizes());
    TORCH_CHECK(given.key.size(2) == given.query.size(2),
                "expected query and key of the same head size, but got ", given.query.size(2),
                " and ", given.key.size(2));
  }

  int64_t rowsInBlock() const {
    return std::max<int64_t>(1, kScoresInMemory / std::max<int64_t>(1, heads * keys));
  }

  // (heads, rows, n) as (key heads, group * rows, n) and back.
  at::Tensor grouped(const at::Tensor& x) const {
    return x.reshape({key_heads, heads / key_heads * x.size(1), x.size(2)});
  }
  at::Tensor ungrouped(const at::Tensor& x, int64_t rows) const {
    return x.reshape({heads, rows, x.size(2)});
  }

  // Rows [first, first + rows) of something that broadcasts to (heads, queries, keys).
  at::Tensor rowsOf(const at::Tensor& x, int64_t first, int64_t rows) const {
    return x.dim() >= 2 && x.size(-2) == queries && queries > 1 ? x.narrow(-2, first, rows) : x;
  }

  at::Tensor scores(int64_t first, int64_t rows) const {
    at::Tensor result =
        ungrouped(at::matmul(grouped(query.narrow(1, first, rows)), key.transpose(1, 2)), rows);
    if (sequence.bias.defined() && sequence.bias_scaled) {
      result.add_(rowsOf(sequence.bias, first, rows).to(type));
    }
    result.mul_(sequence.scale);
    if (sequence.bias.defined() && !sequence.bias_scaled) {
      result.add_(rowsOf(sequence.bias, first, rows).to(type));
    }
    if (sequence.visibility.hidden.defined()) {
      result.masked_fill_(rowsOf(sequence.visibility.hidden, first, rows), kHidden);
    }
    if (const at::Tensor outside = outsideBand(first, rows); outside.defined()) {
      result.masked_fill_(outside, kHidden);
    }
    return result;
  }

  at::Tensor outsideBand(int64_t first, int64_t rows) const {
    const auto [hidden, before, after, prefix] = sequence.visibility;
    const bool all_before = before >= queries;
    const bool all_after = after >= keys;
    if (all_before && all_after) {
      return {};
    }
    const at::TensorOptions options = query.options().dtype(at::kLong);
    const at::Tensor key_index = at::arange(keys, options);
    const at::Tensor distance =
        key_index.unsqueeze(0).sub(at::arange(first, first + rows, options).unsqueeze(1));
    at::Tensor outside = at::zeros({rows, keys}, query.options().dtype(at::kBool));
    if (!all_after) {
      outside.logical_or_(distance.gt(after));
    }
    if (!all_before) {
      outside.logical_or_(distance.lt(-before));
    }
    return prefix > 0 ? outside.logical_and_(key_index.ge(prefix)) : outside;
  }

  at::Tensor dropped(const at::Tensor& weights, int64_t first, int64_t rows) const {
    return weights.mul(sequence.kept.narrow(1, first, rows)).div_(sequence.keep_probability);
  }

  const Sequence& sequence;
  at::ScalarType type;
  int64_t heads, queries, key_heads, keys;
  at::Tensor query, key, value;
};

// A maximum that may be subtracted: rows without any visible key have -inf.
at::Tensor finite(const at::Tensor& maximum) { return maximum.masked_fill(maximum.eq(kHidden), 0); }

// 1 / sum, and 0 where nothing was summed.
at::Tensor inverse(const at::Tensor& sum) { return sum.reciprocal().masked_fill_(sum.eq(0), 0); }

}  // namespace

AttentionResult attend(const Sequence& sequence) {
  const Problem problem(sequence);
  const at::TensorOptions options = sequence.query.options().dtype(problem.type);
  AttentionResult result{
      at::zeros({problem.heads, problem.queries, problem.value.size(2)}, options),
      at::full({problem.heads, problem.queries}, kHidden, options),
      at::zeros({problem.heads, problem.queries}, options)};
  if (problem.keys == 0) {
    return result;
  }
  const int64_t block = problem.rowsInBlock();
  for (int64_t first = 0; first < problem.queries; first += block) {
    const int64_t rows = std::min(block, problem.queries - first);
    at::Tensor weights = problem.scores(first, rows);
    at::Tensor maximum = weights.amax(-1);
    if (sequence.sink.defined()) {
      maximum = maximum.maximum(sequence.sink.to(problem.type).unsqueeze(1));
    }
    const at::Tensor shift = finite(maximum);
    weights.sub_(shift.unsqueeze(-1)).exp_();
    at::Tensor sum = weights.sum(-1);
    if (sequence.sink.defined()) {
      sum.add_(sequence.sink.to(problem.type).unsqueeze(1).sub(shift).exp_());
    }
    if (sequence.kept.defined()) {
      weights = problem.dropped(weights, first, rows);
    }
    at::Tensor out = problem.ungrouped(at::matmul(problem.grouped(weights), problem.value), rows);
    result.out.narrow(1, first, rows).copy_(out.mul_(inverse(sum).unsqueeze(-1)));
    result.maximum.narrow(1, first, rows).copy_(maximum);
    result.sum.narrow(1, first, rows).copy_(sum);
  }
  return result;
}

AttentionGradients attendBackward(const Sequence& sequence, const at::Tensor& grad_out,
                                  const AttentionResult& forward) {
  const Problem problem(sequence);
  const at::TensorOptions options = sequence.query.options().dtype(problem.type);
  AttentionGradients gradients{
      at::zeros(problem.query.sizes(), options), at::zeros(problem.key.sizes(), options),
      at::zeros(problem.value.sizes(), options), at::Tensor(), at::Tensor()};
  if (sequence.bias.defined()) {
    gradients.bias = at::zeros({problem.heads, problem.queries, problem.keys}, options);
  }
  if (sequence.sink.defined()) {
    gradients.sink = at::zeros({problem.heads}, options);
  }
  if (problem.keys == 0) {
    return gradients;
  }
  const at::Tensor grad = grad_out.to(problem.type);
  const at::Tensor through_out = grad.mul(forward.out.to(problem.type)).sum(-1, /*keepdim=*/true);
  const at::Tensor shift = finite(forward.maximum.to(problem.type)).unsqueeze(-1);
  const at::Tensor factor = inverse(forward.sum.to(problem.type)).unsqueeze(-1);
  if (gradients.sink.defined()) {  // a weight that no value belongs to
    const at::Tensor weight =
        sequence.sink.to(problem.type).view({-1, 1, 1}).sub(shift).exp_().mul_(factor);
    gradients.sink.sub_(weight.mul_(through_out).sum({1, 2}));
  }
  const int64_t block = problem.rowsInBlock();
  for (int64_t first = 0; first < problem.queries; first += block) {
    const int64_t rows = std::min(block, problem.queries - first);
    const at::Tensor weights = problem.scores(first, rows)
                                   .sub_(shift.narrow(1, first, rows))
                                   .exp_()
                                   .mul_(factor.narrow(1, first, rows));
    const at::Tensor grad_rows = problem.grouped(grad.narrow(1, first, rows));
    at::Tensor into_weights =
        problem.ungrouped(at::matmul(grad_rows, problem.value.transpose(1, 2)), rows);
    at::Tensor used = weights;
    if (sequence.kept.defined()) {
      used = problem.dropped(weights, first, rows);
      into_weights = problem.dropped(into_weights, first, rows);
    }
    gradients.value.add_(at::matmul(problem.grouped(used).transpose(1, 2), grad_rows));
    at::Tensor into_scores = into_weights.sub_(through_out.narrow(1, first, rows)).mul_(weights);
    if (gradients.bias.defined()) {
      gradients.bias.narrow(1, first, rows)
          .copy_(sequence.bias_scaled ? into_scores.mul(sequence.scale) : into_scores);
    }
    into_scores = problem.grouped(into_scores.mul_(sequence.scale));
    gradients.query.narrow(1, first, rows)
        .copy_(problem.ungrouped(at::matmul(into_scores, problem.key), rows));
    gradients.key.add_(at::matmul(into_scores.transpose(1, 2),
                                  problem.grouped(problem.query.narrow(1, first, rows))));
  }
  return gradients;
}

}  // namespace softcann::aclnn
