// Random numbers from a seed and an offset into its sequence.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

namespace softcann::aclnn {

// A generator for one operator call: the same seed and offset give the same numbers in every
// process, and different offsets give independent ones.
at::Generator generatorAt(uint64_t seed, uint64_t offset);

// Fills `out` with positive draws: none is below the dtype's smallest normal number, or below
// float16's smallest number at all.
void exponential(at::Tensor& out, double lambd, int64_t seed, int64_t offset);

// out = input * mask / (1 - p), with mask true where the element is kept.
void dropout(const at::Tensor& input, double p, int64_t seed, int64_t offset, at::Tensor& out,
             at::Tensor& mask);

}  // namespace softcann::aclnn
