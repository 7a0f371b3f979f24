#include "torch_npu/csrc/aten/resized_output.h"

#include <ATen/ops/as_strided.h>
#include <c10/util/strides.h>

#include <memory>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/aten/structured.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

ResizedOutput::ResizedOutput(at::Tensor largest)
    : largest_(std::move(largest)), handle_(createTensor(largest_)) {}

ResizedOutput::~ResizedOutput() { descriptorApi().aclDestroyTensor(handle_); }

at::Tensor ResizedOutput::take() {
  getCurrentNPUStream(largest_.device().index()).synchronize();
  int64_t* dims = nullptr;
  uint64_t count = 0;
  NPU_CHECK(descriptorApi().aclGetViewShape(handle_, &dims, &count));
  const std::unique_ptr<int64_t[]> owner(dims);
  const at::IntArrayRef sizes(dims, count);
  const at::Tensor view = at::as_strided(largest_, sizes, c10::contiguous_strides(sizes));
  return view.numel() == largest_.numel() ? view : view.clone();
}

void storeResult(const at::Tensor& out, const at::Tensor& result) {
  resizeOut(out, result.sizes(), {}, result.options());
  out.copy_(result);
}

}  // namespace torch_npu
