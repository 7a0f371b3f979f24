#include "torch_npu/csrc/aten/storage.h"

#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/ops/set_native.h>
#include <torch/library.h>

#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/npu_guard.h"

namespace torch_npu {

void resizeTensor(c10::TensorImpl& tensor, c10::IntArrayRef sizes,
                  std::optional<c10::IntArrayRef> strides) {
  if (tensor.sizes() == sizes && (!strides || tensor.strides() == *strides)) {
    return;
  }
  const size_t itemsize = tensor.itemsize();
  const auto offset = static_cast<size_t>(tensor.storage_offset());
  size_t bytes = 0;
  if (strides) {
    bytes = at::detail::computeStorageNbytes(sizes, *strides, itemsize, offset);
    tensor.set_sizes_and_strides(sizes, *strides);
  } else {
    bytes = at::detail::computeStorageNbytesContiguous(sizes, itemsize, offset);
    tensor.set_sizes_contiguous(sizes);
  }
  // A tensor without elements needs no memory, whatever its offset.
  if (tensor.numel() > 0 && bytes > tensor.unsafe_storage().nbytes()) {
    at::detail::getPrivateUse1Hooks().resizePrivateUse1Bytes(tensor.unsafe_storage(), bytes);
  }
}

namespace {

const at::Tensor& resize(const at::Tensor& self, c10::IntArrayRef size,
                         std::optional<c10::MemoryFormat> memory_format) {
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  const auto old_bytes = static_cast<int64_t>(impl.unsafe_storage().nbytes());
  resizeTensor(impl, size, std::nullopt);
  if (memory_format) {
    TORCH_CHECK(*memory_format != c10::MemoryFormat::Preserve, "Unsupported memory format",
                *memory_format);
    impl.empty_tensor_restride(*memory_format);
  }
  const at::Context& context = at::globalContext();
  if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
      [[unlikely]] {
    at::native::fill_resize_deterministic_(self, old_bytes);
  }
  return self;
}

at::Tensor& setStorageOffset(at::Tensor& self, at::Storage source, int64_t storage_offset,
                             c10::IntArrayRef size, c10::IntArrayRef stride) {
  at::native::checkSetStorage(self, std::move(source), storage_offset, size, stride);
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_storage_offset(storage_offset);
  resizeTensor(impl, size, stride.data() != nullptr ? std::make_optional(stride) : std::nullopt);
  return self;
}

at::Tensor& setEmpty(at::Tensor& self) {
  const NPUGuard guard(self.device());
  at::Storage storage(c10::Storage::use_byte_size_t(), 0, cachingAllocator(),
                      /*resizable=*/true);
  return setStorageOffset(self, std::move(storage), 0, {0}, {});
}

void recordStream(at::Tensor& self, c10::Stream stream) {
  cachingAllocator()->recordStream(self.storage().data_ptr(), stream);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("resize_", TORCH_FN(resize));
  m.impl("set_", TORCH_FN(setEmpty));
  m.impl("set_.source_Storage",
         TORCH_FN(static_cast<at::Tensor& (*)(at::Tensor&, at::Storage)>(at::native::set_)));
  m.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(setStorageOffset));
  m.impl("record_stream", TORCH_FN(recordStream));
}

}  // namespace torch_npu
