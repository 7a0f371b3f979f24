// Outputs of operators that are not structured, as PyTorch's meta function of the operator infers
// them: the generated code calls the operator on meta tensors and makes npu tensors of the results'
// form.
//
//   MetaInference infer;
//   const auto inferred = at::vdot(infer(self), infer(other));
//   at::Tensor out = infer.output(inferred);
//
// Many of these functions are Python code, which torch registers when it is imported.
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace torch_npu {

class MetaInference {
 public:
  // The argument as a meta tensor: sizes, strides, dtype and lazy bits.
  at::Tensor operator()(const at::Tensor& tensor);
  std::optional<at::Tensor> operator()(const std::optional<at::Tensor>& tensor);
  std::vector<at::Tensor> operator()(at::TensorList tensors);
  std::vector<at::Tensor> operator()(const at::ITensorListRef& tensors);
  c10::List<std::optional<at::Tensor>> operator()(
      const c10::List<std::optional<at::Tensor>>& tensors);

  // A new npu tensor of the result's form; undefined if the result is.
  at::Tensor output(const at::Tensor& result) const;
  // Resizes an `out` argument. Which dtypes it may have is for the kernel to say.
  void resize(const at::Tensor& out, const at::Tensor& result) const;
  // Throws unless the result fits into self, on which the operator works in place.
  void checkInplace(const at::Tensor& self, const at::Tensor& result) const;

 private:
  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  std::optional<at::Device> device_;
};

}  // namespace torch_npu
