// Where an executor's arguments become ATen objects for one kernel call.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>

#include "aclnn/core/descriptors.h"

namespace softcann::aclnn {

// A frame lends tensors to one kernel call after another. The TensorImpls are kept between calls
// and set in place, because building three fresh tensors costs more than a small kernel: only
// what a kernel has kept a reference to is replaced.
//
// In compute mode the tensors are CPU tensors over the device memory's mirror. In check mode they
// are meta tensors: the same kernel then infers shapes and dtypes and touches no byte. In trial
// mode they are zeros of their own: the kernel runs, but not on the caller's data.
class Frame {
 public:
  enum class Mode { kCompute, kCheck, kTrial };

  explicit Frame(Mode mode) : mode_(mode) {}

  bool isTrial() const { return mode_ == Mode::kTrial; }

  // Returns every lent tensor; the next call starts anew.
  void reset() { used_ = 0; }

  at::Tensor& lend(const TensorDesc& desc);
  // For a written argument: the tensor that an earlier argument already got for the same view, so
  // that kernels recognise in-place use by identity.
  at::Tensor& lendWritten(const TensorDesc& desc);
  // The tensor that was lent for this very descriptor.
  const at::Tensor& find(const TensorDesc& desc) const;
  // After the kernel: some of ATen's give an output the strides that suit them. The values go where
  // the caller's strides say.
  void restoreStrides(const TensorDesc& desc) const;

 private:
  struct Slot {
    at::Tensor tensor;
    const TensorDesc* desc = nullptr;
  };

  void bind(Slot& slot, const TensorDesc& desc);

  Mode mode_;
  size_t used_ = 0;
  std::deque<Slot> slots_;  // references stay valid while it grows
};

// The calling thread's frame for running kernels.
Frame& computeFrame();

}  // namespace softcann::aclnn
