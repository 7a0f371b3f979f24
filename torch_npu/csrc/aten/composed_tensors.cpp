#include "torch_npu/csrc/aten/composed_tensors.h"

#include <ATen/NestedTensorImpl.h>
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/quantized/QTensorImpl.h>

#include <utility>

#include "torch_npu/csrc/aten/copy.h"

namespace torch_npu {
namespace {

using c10::DispatchKey;

template <typename Impl>
Impl& implOf(const at::Tensor& tensor) {
  return *static_cast<Impl*>(tensor.unsafeGetTensorImpl());
}

c10::DispatchKeySet keysFor(c10::Device device, DispatchKey on_host, DispatchKey on_npu) {
  return c10::DispatchKeySet(device.is_cpu() ? on_host : on_npu);
}

bool isSparseCompressed(const at::Tensor& tensor) {
  switch (tensor.layout()) {
    case c10::kSparseCsr:
    case c10::kSparseCsc:
    case c10::kSparseBsr:
    case c10::kSparseBsc:
      return true;
    default:
      return false;
  }
}

void replaceSparseParts(const at::Tensor& tensor, const at::Tensor& source, PartConverter convert) {
  const auto& from = implOf<at::SparseTensorImpl>(source);
  auto& to = implOf<at::SparseTensorImpl>(tensor);
  to.raw_resize_(from.sparse_dim(), from.dense_dim(), source.sizes());
  to.set_indices_and_values_unsafe(convert(from.indices()), convert(from.values()));
  to.set_coalesced(from.coalesced());
}

void replaceCompressedParts(const at::Tensor& tensor, const at::Tensor& source,
                            PartConverter convert) {
  const auto& from = implOf<at::SparseCsrTensorImpl>(source);
  implOf<at::SparseCsrTensorImpl>(tensor).set_member_tensors(
      convert(from.compressed_indices()), convert(from.plain_indices()), convert(from.values()),
      source.sizes());
}

at::Tensor composeNested(const at::Tensor& tensor, PartConverter convert) {
  // The shapes live on the host on every device.
  const auto& from = implOf<at::native::NestedTensorImpl>(tensor);
  return at::detail::make_tensor<at::native::NestedTensorImpl>(
      convert(from.get_unsafe_storage_as_tensor()), from.get_nested_sizes(),
      from.get_nested_strides(), from.get_storage_offsets());
}

at::QuantizerPtr convertQuantizer(const at::Tensor& tensor, PartConverter convert) {
  const at::QuantizerPtr quantizer = implOf<at::QTensorImpl>(tensor).quantizer();
  const at::QScheme scheme = quantizer->qscheme();
  if (scheme != at::kPerChannelAffine && scheme != at::kPerChannelAffineFloatQParams) {
    return quantizer;
  }
  const auto& per_channel = static_cast<at::PerChannelAffineQuantizer&>(*quantizer);
  return at::make_per_channel_affine_quantizer(convert(per_channel.scales()),
                                               convert(per_channel.zero_points()),
                                               per_channel.axis(), tensor.scalar_type());
}

// The integers of a quantized tensor as a tensor over the same memory.
at::Tensor quantizedIntegers(const at::Tensor& tensor) {
  const DispatchKey key = tensor.device().is_cpu() ? DispatchKey::CPU : DispatchKey::PrivateUse1;
  at::Tensor integers = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(tensor.storage()), c10::DispatchKeySet(key),
      c10::scalarTypeToTypeMeta(c10::toUnderlying(tensor.scalar_type())));
  integers.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                        tensor.storage_offset());
  return integers;
}

at::Tensor composeQuantized(const at::Tensor& tensor, c10::Device device, PartConverter convert) {
  const at::Tensor integers = convert(quantizedIntegers(tensor));
  at::Tensor result = at::detail::make_tensor<at::QTensorImpl>(
      c10::Storage(integers.storage()),
      keysFor(device, DispatchKey::QuantizedCPU, DispatchKey::QuantizedPrivateUse1), tensor.dtype(),
      convertQuantizer(tensor, convert));
  result.unsafeGetTensorImpl()->set_sizes_and_strides(integers.sizes(), integers.strides(),
                                                      integers.storage_offset());
  return result;
}

}  // namespace

bool isComposed(const at::Tensor& tensor) {
  return tensor.layout() != c10::kStrided || tensor.is_quantized() || tensor.is_nested();
}

at::Tensor composeFrom(const at::Tensor& tensor, c10::Device device, PartConverter convert) {
  if (tensor.is_nested()) {
    return composeNested(tensor, convert);
  }
  if (tensor.is_quantized()) {
    return composeQuantized(tensor, device, convert);
  }
  at::Tensor result;
  if (tensor.layout() == c10::kSparse) {
    result = at::detail::make_tensor<at::SparseTensorImpl>(
        keysFor(device, DispatchKey::SparseCPU, DispatchKey::SparsePrivateUse1), tensor.dtype());
  } else {
    TORCH_CHECK_NOT_IMPLEMENTED(isSparseCompressed(tensor), "a tensor of layout ", tensor.layout(),
                                " cannot move between cpu and npu; convert it ",
                                "with .to_dense() first");
    result = at::detail::make_tensor<at::SparseCsrTensorImpl>(
        keysFor(device, DispatchKey::SparseCsrCPU, DispatchKey::SparseCsrPrivateUse1), device,
        tensor.layout(), tensor.dtype());
  }
  replaceParts(result, tensor, convert);
  return result;
}

void replaceParts(const at::Tensor& tensor, const at::Tensor& source, PartConverter convert) {
  if (tensor.layout() == c10::kSparse) {
    replaceSparseParts(tensor, source, convert);
  } else if (isSparseCompressed(tensor)) {
    replaceCompressedParts(tensor, source, convert);
  } else if (tensor.is_quantized()) {
    const at::Tensor integers = convert(quantizedIntegers(source));
    c10::TensorImpl& impl = *tensor.unsafeGetTensorImpl();
    impl.set_storage_keep_dtype(integers.storage());
    impl.set_sizes_and_strides(integers.sizes(), integers.strides(), integers.storage_offset());
    implOf<at::QTensorImpl>(tensor).set_quantizer_(convertQuantizer(source, convert));
  } else {
    // The shapes of a nested tensor never change in place.
    convert(implOf<at::native::NestedTensorImpl>(source).get_unsafe_storage_as_tensor());
  }
}

void copyQuantized(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  TORCH_CHECK_NOT_IMPLEMENTED(dst.is_quantized() && src.is_quantized(),
                              "copy_ between a quantized and another tensor is not supported on "
                              "npu; use torch.quantize_per_tensor() or Tensor.dequantize()");
  TORCH_CHECK(dst.scalar_type() == src.scalar_type(),
              "Quantized copy only works with tensors of one dtype, but got ", dst.scalar_type(),
              " and ", src.scalar_type());
  copyTensor(quantizedIntegers(dst), quantizedIntegers(src), non_blocking);
  implOf<at::QTensorImpl>(dst).set_quantizer_(
      convertQuantizer(src, [&](const at::Tensor& part) { return part.to(dst.device()); }));
}

}  // namespace torch_npu
