// The limits of convolutions that follow from the cube unit, as CANN's documents of
// aclnnConvolution and aclnnConvolutionBackward give them for the Atlas A2.
#include <limits>

#include "aclnn/core/limits.h"

namespace softcann::aclnn {

namespace {

constexpr double kAny = std::numeric_limits<double>::infinity();
constexpr double kMaxPadding = 255;
constexpr double kMaxDilation = 255;
constexpr double kMaxKernel = 255;           // of a gradient, or of a transposed convolution
constexpr double kMaxForwardKernel3d = 511;  // of a three-dimensional convolution
constexpr double kMaxStride3d = 63;
constexpr double kMaxSize = 1000000;

size_t spatialDims(const Operand& input) {
  const size_t rank = input.tensors.empty() ? 0 : input.tensors[0]->sizes().size();
  return rank > 2 ? rank - 2 : 0;
}

bool isTrue(const Operand& flag) { return !flag.numbers.empty() && flag.numbers[0] != 0; }

}  // namespace

void Limits::convolutionArrays(const Operand& input, const Operand& weight, const Operand& stride,
                               const Operand& dilation) {
  sameRank({&input, &weight});
  const auto dims = static_cast<double>(spatialDims(input));
  length(stride, dims, dims);
  length(dilation, dims, dims);
  range(stride, 1, kAny);
  range(dilation, 1, kAny);
}

void Limits::convolution(const Operand& input, const Operand& weight, const Operand& stride,
                         const Operand& padding, const Operand& dilation, const Operand& transposed,
                         const Operand& mode) {
  convolutionArrays(input, weight, stride, dilation);
  range(padding, 0, kAny);
  code(ACLNN_ERR_INNER_NULLPTR);
  const size_t dims = spatialDims(input);
  // Of three spatial dimensions the first, the depth, is not the cube unit's.
  const size_t plane = dims == 3 ? 1 : 0;
  sizesFrom(input, 0, 0, kMaxSize);
  sizesFrom(weight, 0, 0, kMaxSize);
  if (isTrue(transposed)) {
    sizesFrom(weight, 2 + plane, 1, kMaxKernel);
    elementsFrom(dilation, 0, 1, kMaxDilation);
    if (dims == 3) {
      elementsFrom(stride, plane, 1, kMaxStride3d);
      elementsFrom(padding, plane, 0, kMaxPadding);
    }
  } else if (dims == 3) {
    sizesFrom(weight, 2 + plane, 1, kMaxForwardKernel3d);
    elementsFrom(stride, plane, 1, kMaxStride3d);
    elementsFrom(padding, plane, 0, kMaxPadding);
    elementsFrom(dilation, plane, 1, kMaxDilation);
  } else {
    elementsFrom(padding, 0, 0, kMaxPadding);
  }
  if (!input.dtypes.empty() && input.dtypes[0] == at::kFloat) range(mode, 1, 3);
}

void Limits::convolutionBackward(const Operand& input, const Operand& weight, const Operand& stride,
                                 const Operand& padding, const Operand& dilation,
                                 const Operand& transposed) {
  convolutionArrays(input, weight, stride, dilation);
  range(padding, 0, kAny);
  code(ACLNN_ERR_INNER_NULLPTR);
  if (isTrue(transposed)) return;  // no numbers are given for it
  const size_t dims = spatialDims(input);
  const size_t plane = dims == 3 ? 1 : 0;
  sizesFrom(weight, 2 + plane, 1, kMaxKernel);
  elementsFrom(dilation, 0, 1, kMaxDilation);
  elementsFrom(padding, plane, 0, kMaxPadding);
  if (dims == 3) elementsFrom(stride, plane, 1, kMaxStride3d);
}

}  // namespace softcann::aclnn
