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
//
// On request, half-precision tensors are lent as float32 copies (half_precision.h); storeResults()
// rounds into the caller's what the kernel has written.
class Frame {
 public:
  enum class Mode { kCompute, kCheck, kTrial };

  explicit Frame(Mode mode) : mode_(mode) {}

  bool isTrial() const { return mode_ == Mode::kTrial; }

  // Whether the next call's half-precision tensors are lent as float32. Not in check mode, whose
  // kernels are asked about the dtypes too.
  void convertHalf(bool convert) { converting_ = convert && mode_ != Mode::kCheck; }

  // Returns every lent tensor; the next call starts anew.
  void reset() {
    if (converting_) [[unlikely]] {
      dropConverted();
    }
    used_ = 0;
  }

  at::Tensor& lend(const TensorDesc& desc);
  // For a written argument: the tensor that an earlier argument already got for the same view, so
  // that kernels recognise in-place use by identity.
  at::Tensor& lendWritten(const TensorDesc& desc);
  // The tensor that was lent for this very descriptor.
  const at::Tensor& find(const TensorDesc& desc) const;
  // After the kernel: some of ATen's give an output the strides that suit them. The values go where
  // the caller's strides say.
  void restoreStrides(const TensorDesc& desc) const;
  // After the kernel: rounds converted results into the caller's tensors.
  void storeResults() const;

 private:
  struct Slot {
    at::Tensor tensor;
    const TensorDesc* desc = nullptr;
    bool written = false;
    bool is_converted = false;
    at::Tensor converted;  // lent in the other's place if is_converted
    at::DataPtr memory;    // of `converted`
    int64_t capacity = 0;  // of `memory`, in elements

    at::Tensor& lent() { return is_converted ? converted : tensor; }
    const at::Tensor& lent() const { return is_converted ? converted : tensor; }
  };

  void bind(Slot& slot, const TensorDesc& desc);
  static void convert(Slot& slot, const TensorDesc& desc);
  void dropConverted();

  Mode mode_;
  bool converting_ = false;
  size_t used_ = 0;
  std::deque<Slot> slots_;  // references stay valid while it grows
};

// The calling thread's frame for running kernels.
Frame& computeFrame();

}  // namespace softcann::aclnn
