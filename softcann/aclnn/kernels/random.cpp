#include "aclnn/kernels/random.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/mul.h>

namespace softcann::aclnn {

namespace {

// A bijective mix (Steele, Lea and Flood's SplitMix64 finaliser), so that neighbouring seeds and
// offsets start unrelated sequences.
uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15ULL;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

}  // namespace

at::Generator generatorAt(uint64_t seed, uint64_t offset) {
  return at::make_generator<at::CPUGeneratorImpl>(mix(mix(seed) ^ offset));
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
