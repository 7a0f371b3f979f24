// Outputs whose shape depends on the data (nonzero, masked_select, unique).
//
// CANN is given a tensor of the largest possible size and notes the true shape in its descriptor
// when the operator has run. take() waits for that, which makes these operators synchronous, as
// on any device.
#pragma once

#include <ATen/core/Tensor.h>

#include "torch_npu/csrc/aten/descriptors.h"
#include "torch_npu/csrc/aten/launch.h"

namespace torch_npu {

class ResizedOutput {
 public:
  explicit ResizedOutput(at::Tensor largest);
  ResizedOutput(const ResizedOutput&) = delete;
  ResizedOutput& operator=(const ResizedOutput&) = delete;
  ~ResizedOutput();

  const at::Tensor& largest() const { return largest_; }
  aclTensor* handle() const { return handle_; }

  // After the launch: waits for the device and gives the tensor with the shape it turned out to
  // have. What it does not need of the memory is given back.
  at::Tensor take();

 private:
  at::Tensor largest_;
  aclTensor* handle_;
};

// Gives an `out` argument the shape and the contents of a result.
void storeResult(const at::Tensor& out, const at::Tensor& result);

// The descriptor outlives the call, so the launch does not own it.
class BorrowedTensor {
 public:
  using CType = const aclTensor*;
  BorrowedTensor(const ResizedOutput& output, LaunchDevice) : handle_(output.handle()) {}
  CType get() const { return handle_; }

 private:
  const aclTensor* handle_;
};
template <>
struct ConversionOf<ResizedOutput> {
  using type = BorrowedTensor;
};

inline void noteDevice(LaunchDevice& device, const ResizedOutput& output) {
  detail::noteTensor(device, output.largest());
}

}  // namespace torch_npu
