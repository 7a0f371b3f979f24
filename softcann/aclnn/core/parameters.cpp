#include "aclnn/core/parameters.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>

namespace softcann::aclnn {

void ResizedTensor::Lent::assign(const at::Tensor& value) {
  TORCH_CHECK(value.numel() <= tensor_.numel(), "the result has ", value.numel(),
              " elements, but the output was given room for ", tensor_.numel());
  std::vector<int64_t> strides(static_cast<size_t>(value.dim()));
  int64_t step = 1;
  for (int64_t i = value.dim(); i-- > 0;) {
    strides[static_cast<size_t>(i)] = step;
    step *= std::max<int64_t>(value.size(i), 1);
  }
  at::as_strided(tensor_, value.sizes(), strides, tensor_.storage_offset()).copy_(value);
  if (handle_ == nullptr) {  // nobody waits for the shape
    return;
  }
  handle_->desc.shape.set_sizes(value.sizes());
  handle_->desc.shape.set_strides(strides);
}

}  // namespace softcann::aclnn
