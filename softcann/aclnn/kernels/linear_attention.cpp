#include "aclnn/kernels/linear_attention.h"

#include <ATen/ops/ones.h>
#include <c10/util/Exception.h>

#include <functional>
#include <vector>

namespace softcann::aclnn {

namespace {

std::vector<int64_t> numbersOf(const std::optional<at::Tensor>& tensor, const char* name) {
  TORCH_CHECK(tensor.has_value(), "the gated delta rule needs ", name);
  const at::Tensor whole = tensor->to(at::kLong).contiguous();
  const auto* first = whole.const_data_ptr<int64_t>();
  return {first, first + whole.numel()};
}

// The call's tensors in float32, with a key head for each head.
class Tokens {
 public:
  explicit Tokens(const GatedDeltaRule& call) {
    TORCH_CHECK(call.query.dim() == 3 && call.key.sizes() == call.query.sizes() &&
                    call.value.dim() == 3 && call.value.size(0) == call.query.size(0) &&
                    call.query.size(1) > 0 && call.value.size(1) % call.query.size(1) == 0,
                "expected query and key of (tokens, key heads, key size) and value of (tokens, "
                "heads, value size) with a multiple of the key heads, but got ",
                call.query.sizes(), ", ", call.key.sizes(), " and ", call.value.sizes());
    const int64_t group = call.value.size(1) / call.query.size(1);
    query_ = call.query.to(at::kFloat).mul(call.scale).repeat_interleave(group, 1);
    key_ = call.key.to(at::kFloat).repeat_interleave(group, 1);
    value_ = call.value.to(at::kFloat);
    const at::IntArrayRef heads = call.value.sizes().slice(0, 2);
    beta_ = call.beta.has_value() ? call.beta->to(at::kFloat) : at::ones(heads, value_.options());
    TORCH_CHECK(beta_.sizes() == heads, "expected beta of ", heads, ", but got ", beta_.sizes());
    if (call.g.has_value()) {
      TORCH_CHECK(call.g->sizes() == heads, "expected g of ", heads, ", but got ", call.g->sizes());
      decay_ = call.g->to(at::kFloat).exp().unsqueeze(-1);
    }
    if (call.gk.has_value()) {
      TORCH_CHECK(call.gk->sizes() == key_.sizes(), "expected gk of ", key_.sizes(), ", but got ",
                  call.gk->sizes());
      const at::Tensor own = call.gk->to(at::kFloat).exp();
      decay_ = decay_.defined() ? decay_.mul(own) : own;
    }
  }

  int64_t count() const { return value_.size(0); }

  // Changes the state (heads, value size, key size) by a token and gives its output.
  at::Tensor apply(at::Tensor& state, int64_t token) const {
    if (decay_.defined()) {
      state.mul_(decay_.select(0, token).unsqueeze(1));
    }
    const at::Tensor key = key_.select(0, token);
    const at::Tensor known = state.matmul(key.unsqueeze(-1)).squeeze(-1);
    const at::Tensor news =
        value_.select(0, token).sub(known).mul_(beta_.select(0, token).unsqueeze(-1));
    state.add_(news.unsqueeze(-1).mul(key.unsqueeze(1)));
    return state.matmul(query_.select(0, token).unsqueeze(-1)).squeeze(-1);
  }

 private:
  at::Tensor query_, key_, value_, beta_, decay_;
};

// Calls step(sequence, first token, length) for each.
void forEachSequence(const std::vector<int64_t>& lengths, int64_t tokens,
                     const std::function<void(int64_t, int64_t, int64_t)>& step) {
  int64_t first = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    TORCH_CHECK(lengths[i] >= 0 && first + lengths[i] <= tokens, "expected actual_seq_lengths up ",
                "to ", tokens, " tokens in all, but got ", at::IntArrayRef(lengths));
    step(static_cast<int64_t>(i), first, lengths[i]);
    first += lengths[i];
  }
}

}  // namespace

void recurrentGatedDeltaRule(const GatedDeltaRule& call,
                             const std::optional<at::Tensor>& state_indices,
                             const std::optional<at::Tensor>& accepted, at::Tensor& state,
                             at::Tensor& out) {
  const Tokens tokens(call);
  const std::vector<int64_t> lengths = numbersOf(call.lengths, "actual_seq_lengths");
  const std::vector<int64_t> places = numbersOf(state_indices, "ssm_state_indices");
  TORCH_CHECK(static_cast<int64_t>(places.size()) >= tokens.count(),
              "expected ssm_state_indices for ", tokens.count(), " tokens, but got ",
              places.size());
  const std::vector<int64_t> taken = accepted.has_value()
                                         ? numbersOf(accepted, "num_accepted_tokens")
                                         : std::vector<int64_t>(lengths.size(), 1);
  TORCH_CHECK(taken.size() >= lengths.size(), "expected num_accepted_tokens for ", lengths.size(),
              " sequences, but got ", taken.size());
  out.zero_();  // tokens beyond the last sequence
  forEachSequence(lengths, tokens.count(), [&](int64_t sequence, int64_t first, int64_t length) {
    if (length == 0) return;
    const int64_t last = taken[static_cast<size_t>(sequence)];
    TORCH_CHECK(last >= 1 && last <= length, "expected num_accepted_tokens from 1 to ", length,
                ", but got ", last);
    at::Tensor own = state.select(0, places[static_cast<size_t>(first + last - 1)])
                         .to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    for (int64_t token = first; token < first + length; ++token) {
      out.select(0, token).copy_(tokens.apply(own, token));
      state.select(0, places[static_cast<size_t>(token)]).copy_(own);
    }
  });
}

void chunkGatedDeltaRule(const GatedDeltaRule& call, const std::optional<at::Tensor>& initial_state,
                         at::Tensor& out, at::Tensor& final_state) {
  const Tokens tokens(call);
  const std::vector<int64_t> lengths = numbersOf(call.lengths, "actual_seq_lengths");
  TORCH_CHECK(
      initial_state.has_value() && initial_state->size(0) == static_cast<int64_t>(lengths.size()),
      "expected initial_state of ", lengths.size(), " sequences");
  out.zero_();
  final_state.copy_(*initial_state);
  forEachSequence(lengths, tokens.count(), [&](int64_t sequence, int64_t first, int64_t length) {
    at::Tensor own =
        initial_state->select(0, sequence).to(at::kFloat, /*non_blocking=*/false, /*copy=*/true);
    for (int64_t token = first; token < first + length; ++token) {
      out.select(0, token).copy_(tokens.apply(own, token));
    }
    final_state.select(0, sequence).copy_(own);
  });
}

}  // namespace softcann::aclnn
