// ATen's structured operators on npu: at::meta's classes infer shapes and dtypes and check the
// arguments; these templates give them the tensors to write.
//
// A functional operator allocates what it is told, an in-place one checks that self fits, an out
// one resizes its outputs. Kernels of CANN write any strides, so no proxy outputs are needed.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/TensorMeta.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace torch_npu {

// A new tensor; contiguous if strides are empty. A CPU device, inferred from a CPU scalar among
// npu tensors, means the current npu device.
at::Tensor newOutput(at::IntArrayRef sizes, at::IntArrayRef strides,
                     const at::TensorOptions& options);
// Refuses an output on another device, and one whose conjugation or negation is still to be done.
void checkWritable(const at::Tensor& out);
// Refuses an output that shares a part of its memory with an input; all of it is allowed.
void checkNoPartialOverlap(const at::Tensor& out, const at::Tensor& input);

// What every written argument is checked for. An input without dimensions is read as a number,
// which in-place operators may take from a place in what they write.
inline void checkApartFrom(const at::Tensor& out, const at::Tensor& input) {
  if (input.defined() && input.dim() > 0 && !input.is_same(out)) checkNoPartialOverlap(out, input);
}
inline void checkApartFrom(const at::Tensor& out, const std::optional<at::Tensor>& input) {
  if (input.has_value()) checkApartFrom(out, *input);
}
template <class... Inputs>
void checkWritten(const at::Tensor& out, const Inputs&... inputs) {
  checkWritable(out);
  (checkApartFrom(out, inputs), ...);
}
// In lists, which tensor goes with which is the kernel's to know.
template <class... Inputs>
void checkWritten(at::TensorList outs, const Inputs&...) {
  for (const at::Tensor& out : outs) checkWritable(out);
}
void checkInplace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options);
void resizeOut(const at::Tensor& out, at::IntArrayRef sizes, at::IntArrayRef strides,
               const at::TensorOptions& options);

// Optional arguments as at::meta takes them.
inline at::OptionalTensorRef asReference(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? at::OptionalTensorRef(*tensor) : at::OptionalTensorRef();
}
inline at::OptionalScalarRef asReference(const std::optional<at::Scalar>& scalar) {
  return scalar.has_value() ? at::OptionalScalarRef(*scalar) : at::OptionalScalarRef();
}

// What the three forms share: both of MetaBase's callbacks mean the same here.
template <class Meta, class Self>
class StructuredOperator : public Meta {
 public:
  void set_output_strided(int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                          at::TensorOptions options) final {
    static_cast<Self*>(this)->setOutput(static_cast<size_t>(index), sizes, strides, options);
    if constexpr (std::is_base_of_v<at::TensorIteratorBase, Meta>) {
      Meta::set_output_raw_strided(index, sizes, strides, options);
    }
  }
  void set_output_raw_strided(int64_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                              at::TensorOptions options) final {
    set_output_strided(index, sizes, strides, options);
  }
  const at::Tensor& maybe_get_output(int64_t index) final {
    return static_cast<Self*>(this)->output(static_cast<size_t>(index));
  }
};

template <class Meta, size_t N>
class Functional final : public StructuredOperator<Meta, Functional<Meta, N>> {
 public:
  void setOutput(size_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                 const at::TensorOptions& options) {
    outputs_[index] = newOutput(sizes, strides, options);
  }
  at::Tensor& output(size_t index) { return outputs_[index]; }

 private:
  std::array<at::Tensor, N> outputs_;
};

template <class Meta>
class Inplace final : public StructuredOperator<Meta, Inplace<Meta>> {
 public:
  explicit Inplace(at::Tensor& self) : self_(self) { checkWritable(self); }
  void setOutput(size_t /*index*/, at::IntArrayRef sizes, at::IntArrayRef /*strides*/,
                 const at::TensorOptions& options) {
    checkInplace(self_, sizes, options);
  }
  at::Tensor& output(size_t /*index*/) { return self_; }

 private:
  at::Tensor& self_;
};

template <class Meta, size_t N>
class Out final : public StructuredOperator<Meta, Out<Meta, N>> {
 public:
  template <class... Tensors>
  explicit Out(Tensors&... outputs) : outputs_{std::ref(outputs)...} {
    (checkWritable(outputs), ...);
  }
  void setOutput(size_t index, at::IntArrayRef sizes, at::IntArrayRef strides,
                 const at::TensorOptions& options) {
    resizeOut(outputs_[index], sizes, strides, options);
  }
  at::Tensor& output(size_t index) { return outputs_[index]; }

 private:
  std::array<std::reference_wrapper<at::Tensor>, N> outputs_;
};

}  // namespace torch_npu
