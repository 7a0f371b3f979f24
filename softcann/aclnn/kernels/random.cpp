#include "aclnn/kernels/random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Dispatch.h>
#include <ATen/ops/mul.h>

#include <limits>
#include <type_traits>

namespace softcann::aclnn {

namespace {

constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15ULL;

// A bijective mix (Steele, Lea and Flood's SplitMix64 finaliser), so that neighbouring seeds and
// offsets start unrelated sequences.
uint64_t mix(uint64_t value) {
  value += kGoldenRatio;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

at::Generator generatorAt(uint64_t seed, uint64_t offset) {
  // CPUGeneratorImpl would seed its engine with 32 bits; all 64 choose the engine's state here.
  const uint64_t start = mix(mix(seed) ^ offset);
  at::mt19937_data_pod data{};
  data.seed_ = start;
  data.left_ = 1;
  data.seeded_ = true;
  for (size_t i = 0; i < data.state_.size(); ++i) {
    data.state_[i] = static_cast<uint32_t>(mix(start + i * kGoldenRatio) >> 32);
  }
  at::mt19937 engine;
  engine.set_data(data);
  auto generator = at::make_generator<at::CPUGeneratorImpl>(start);
  at::check_generator<at::CPUGeneratorImpl>(generator)->set_engine(engine);
  return generator;
}

void exponential(at::Tensor& out, double lambd, int64_t seed, int64_t offset) {
  out.exponential_(lambd, generatorAt(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)));
  // A draw may be 0, or be rounded to it by a half type; its logarithm is wanted all the same.
  // float16 has so few exponents that its subnormal numbers are draws like others.
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "exponential_", [&] {
    using Numbers = std::numeric_limits<scalar_t>;
    constexpr bool kHalf = std::is_same_v<scalar_t, at::Half>;
    out.clamp_min_(static_cast<double>(kHalf ? Numbers::denorm_min() : Numbers::min()));
  });
}

void dropout(const at::Tensor& input, double p, int64_t seed, int64_t offset, at::Tensor& out,
             at::Tensor& mask) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  mask.bernoulli_(1 - p, generatorAt(static_cast<uint64_t>(seed), static_cast<uint64_t>(offset)));
  at::mul_out(out, input, mask);
  if (p < 1) {
    out.mul_(1 / (1 - p));
  }
}

}  // namespace softcann::aclnn
