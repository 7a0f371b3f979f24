// What the rows of variants.yaml and foreach_tensor.yaml compute beyond one ATen call.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace softcann::aclnn {

// Says that a parameter changes nothing here: it chooses among a card's kernels.
template <class... Parameters>
void unused(const Parameters&...) {}

// A generator for a seed and an offset that lie in tensors, with an offset added to theirs.
at::Generator generatorIn(const at::Tensor& seed, const at::Tensor& offset, uint64_t more);

void maxAlong(const at::Tensor& self, int64_t dim, bool keepdim, at::Tensor& out,
              at::Tensor& indices);
at::Tensor indexTensor(at::IntArrayRef index);
std::optional<double> scaleOrNone(double scale);

// CANN's numbers: 0 none, 1 sum, 2 product, 3 greatest, 4 smallest, 5 mean.
void scatterReduceInto(at::Tensor& out, const at::Tensor& self, int64_t dim,
                       const at::Tensor& index, const at::Tensor& src, int64_t reduce,
                       bool include_self);
void scatterRows(at::Tensor& var, const at::Tensor& indices, const at::Tensor& updates);
// `index` of any shape takes the place of dimension `dim`.
void gatherInto(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index);
at::Tensor oneHot(const at::Tensor& self, int64_t classes, const at::Tensor& on,
                  const at::Tensor& off, int64_t axis);

at::Tensor repeatEach(const at::Tensor& self, const at::Tensor& repeats, int64_t dim,
                      int64_t output_size);
void repeatInterleaveGrad(const at::Tensor& out, const at::Tensor& grad, const at::Tensor& repeats,
                          int64_t axis);

// 1 to the nearest, 2 down, 3 up, 5 towards zero, 7 the fraction.
void roundEach(std::vector<at::Tensor>& tensors, int64_t mode);

// slope * grad, divided by the slope's elements where the loss was their mean.
at::Tensor reducedGrad(const at::Tensor& grad, const at::Tensor& slope, int64_t reduction);
// In float32 at least, as a card computes the steps of it.
at::Tensor binaryCrossEntropyWithLogits(const at::Tensor& self, const at::Tensor& target,
                                        const std::optional<at::Tensor>& weight,
                                        const std::optional<at::Tensor>& pos_weight,
                                        int64_t reduction);
at::Tensor binaryCrossEntropyWithLogitsBackward(const at::Tensor& grad, const at::Tensor& self,
                                                const at::Tensor& target,
                                                const std::optional<at::Tensor>& weight,
                                                const std::optional<at::Tensor>& pos_weight,
                                                int64_t reduction);
at::Tensor klDivBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& target,
                         int64_t reduction, bool log_target);
at::Tensor klDivTargetBackward(const at::Tensor& grad, const at::Tensor& self,
                               const at::Tensor& target, int64_t reduction, bool log_target);
// The part of aclnnCtcLoss's log_alpha that is no padding.
at::Tensor unpaddedAlpha(const at::Tensor& log_alpha, at::IntArrayRef target_lengths);
void preluBackward(const at::Tensor& grad, const at::Tensor& self, const at::Tensor& weight,
                   at::Tensor& grad_input, at::Tensor& grad_weight);

// CANN says -1 for the greatest difference.
double distancePower(double p);
// The gradient of x1. All tensors are expanded to (..., rows of x1, rows of x2, columns).
void expandedCdistBackward(const at::Tensor& grad, const at::Tensor& x1, const at::Tensor& x2,
                           const at::Tensor& cdist, double p, at::Tensor& out);

// Sums over all dimensions but the channels', dimension 1.
void channelSums(const at::Tensor& x, at::Tensor& sum, at::Tensor& square_sum);
void gatherStatistics(const at::Tensor& total_sum, const at::Tensor& total_square_sum,
                      const at::Tensor& count, at::Tensor& running_mean, at::Tensor& running_var,
                      double momentum, double eps, at::Tensor& mean, at::Tensor& invstd);

void svd(const at::Tensor& input, bool full_matrices, bool compute_uv, at::Tensor& sigma,
         at::Tensor& u, at::Tensor& v);

// `mask` holds a bit for each element, from each byte's lowest bit on; at least as many bytes as
// that takes. A bit is 1, for keeping the element, with probability 1 - p.
void fillDropoutMask(at::Tensor& mask, at::IntArrayRef shape, double p, at::Generator generator);
// out = self / (1 - p) where the bit is 1, else 0.
void applyDropoutMask(at::Tensor& out, const at::Tensor& self, const at::Tensor& mask, double p);

}  // namespace softcann::aclnn
