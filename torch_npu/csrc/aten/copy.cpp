#include "torch_npu/csrc/aten/copy.h"

#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <cstring>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/aten/factories.h"
#include "torch_npu/csrc/aten/launch.h"
#include "torch_npu/csrc/core/npu_event.h"
#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/core/npu_memcpy.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {
namespace {

// Pageable sources up to this size go through pinned memory: one more memcpy, but the host does
// not wait for the stream.
constexpr size_t kStagedCopyBytes = size_t{256} << 10;

bool isNpu(const at::Tensor& tensor) {
  return tensor.device().type() == c10::DeviceType::PrivateUse1;
}

bool isPinned(const at::Tensor& tensor) {
  return at::globalContext().isPinnedPtr(tensor.const_data_ptr(), c10::DeviceType::PrivateUse1);
}

// Whether the bytes behind a tensor's data pointer are its elements, all of them, as they are.
bool isPlain(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && !tensor.is_conj() && !tensor.is_neg();
}

// Whether copying the bytes of one plain tensor gives the other.
bool sameBytes(const at::Tensor& a, const at::Tensor& b) {
  return a.scalar_type() == b.scalar_type() && a.sizes() == b.sizes() && a.strides() == b.strides();
}

// The elements as they lie in memory, without a pending conjugation or negation.
at::Tensor withoutPendingMath(const at::Tensor& tensor) {
  at::Tensor raw = tensor;
  if (raw.is_conj()) {
    raw = raw.conj();
  }
  if (raw.is_neg()) {
    raw = raw._neg_view();
  }
  return raw;
}

void copyBytes(const at::Tensor& dst, const at::Tensor& src, aclrtMemcpyKind kind,
               const NPUStream& stream) {
  memcpyAsync(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), kind, stream);
}

void copyBytesAndWait(const at::Tensor& dst, const at::Tensor& src, aclrtMemcpyKind kind,
                      const NPUStream& stream) {
  memcpyAndSync(dst.mutable_data_ptr(), src.const_data_ptr(), src.nbytes(), kind, stream);
}

// Both on one npu, of equal sizes.
void copyElements(const at::Tensor& dst, const at::Tensor& src) {
  if (sameBytes(dst, src) && dst.is_non_overlapping_and_dense()) {
    if (dst.const_data_ptr() != src.const_data_ptr()) {
      copyBytes(dst, src, ACL_MEMCPY_DEVICE_TO_DEVICE, getCurrentNPUStream(dst.device().index()));
    }
    return;
  }
  static AclnnFunction inplace_copy("aclnnInplaceCopy");
  launch(inplace_copy, dst, src);
}

void copyOnDevice(const at::Tensor& dst, const at::Tensor& src) {
  const bool flip_conj = dst.is_conj() != src.is_conj();
  const bool flip_neg = dst.is_neg() != src.is_neg();
  if (!dst.is_conj() && !dst.is_neg() && !flip_conj && !flip_neg) [[likely]] {
    copyElements(dst, src);
    return;
  }
  const at::Tensor raw_dst = withoutPendingMath(dst);
  copyElements(raw_dst, withoutPendingMath(src));
  if (flip_conj && raw_dst.is_complex()) {
    raw_dst.conj_physical_();
  }
  if (flip_neg && raw_dst.scalar_type() != c10::ScalarType::Bool) {
    raw_dst.neg_();
  }
}

at::Tensor emptyLike(const at::Tensor& tensor, c10::Device device) {
  return emptyStrided(tensor.sizes(), tensor.strides(), tensor.scalar_type(), device);
}

// Fills a plain npu tensor from a plain host tensor of the same bytes.
void upload(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const NPUStream stream = getCurrentNPUStream(dst.device().index());
  at::HostAllocator* host_allocator = at::getHostAllocator(c10::DeviceType::PrivateUse1);
  if (isPinned(src)) {
    if (non_blocking) {
      copyBytes(dst, src, ACL_MEMCPY_HOST_TO_DEVICE, stream);
      const c10::DataPtr& memory = src.storage().data_ptr();
      host_allocator->record_event(memory.get(), memory.get_context(), stream);
    } else {
      copyBytesAndWait(dst, src, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    }
    return;
  }
  const size_t bytes = src.nbytes();
  if (bytes <= kStagedCopyBytes) {
    const c10::DataPtr staging = host_allocator->allocate(bytes);
    std::memcpy(staging.get(), src.const_data_ptr(), bytes);
    memcpyAsync(dst.mutable_data_ptr(), staging.get(), bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream);
    host_allocator->record_event(staging.get(), staging.get_context(), stream);
    return;
  }
  copyBytesAndWait(dst, src, ACL_MEMCPY_HOST_TO_DEVICE, stream);
}

void copyFromHost(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const NPUGuard guard(dst.device());
  const at::Tensor values = src.resolve_conj().resolve_neg();
  const at::Tensor host = values.is_non_overlapping_and_dense() ? values : values.contiguous();
  if (isPlain(dst) && sameBytes(dst, host)) {
    upload(dst, host, non_blocking);
    return;
  }
  // Conversion, layout and broadcasting are the device's work.
  const at::Tensor staging = emptyLike(host, dst.device());
  upload(staging, host, non_blocking);
  copyOnDevice(dst, staging.expand(dst.sizes()));
}

void copyToHost(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  const NPUGuard guard(src.device());
  const at::Tensor expanded = src.expand(dst.sizes());
  const at::Tensor host = isPlain(dst) ? dst : at::empty(dst.sizes(), dst.options());
  at::Tensor source = expanded;
  if (!isPlain(expanded) || !sameBytes(expanded, host)) {
    source = emptyLike(host, src.device());
    copyOnDevice(source, expanded);
  }
  const NPUStream stream = getCurrentNPUStream(src.device().index());
  if (non_blocking && host.is_same(dst) && isPinned(dst)) {
    copyBytes(host, source, ACL_MEMCPY_DEVICE_TO_HOST, stream);
    const c10::DataPtr& memory = dst.storage().data_ptr();
    at::getHostAllocator(c10::DeviceType::PrivateUse1)
        ->record_event(memory.get(), memory.get_context(), stream);
    return;
  }
  copyBytesAndWait(host, source, ACL_MEMCPY_DEVICE_TO_HOST, stream);
  if (!host.is_same(dst)) {
    dst.copy_(host);
  }
}

void enablePeerAccess(c10::DeviceIndex device, c10::DeviceIndex peer) {
  static std::array<std::array<std::atomic<bool>, kMaxDevices>, kMaxDevices> enabled{};
  std::atomic<bool>& is_enabled = enabled[device][peer];
  if (is_enabled.load(std::memory_order_acquire)) {
    return;
  }
  TORCH_CHECK(canAccessPeer(device, peer), "npu:", device, " cannot reach the memory of npu:", peer,
              "; copy through the host with .cpu()");
  ensureContext(device);
  if (acl::api().aclrtDeviceEnablePeerAccess != nullptr) {
    NPU_CHECK(acl::api().aclrtDeviceEnablePeerAccess(peer, 0));
  }
  is_enabled.store(true, std::memory_order_release);
}

// The copy runs on the source's stream, after the work that the destination's stream already
// has, and the destination's stream goes on after it. So memory of either device that is freed
// meanwhile is not handed out too early.
void copyBytesToPeer(const at::Tensor& dst, const at::Tensor& src) {
  const c10::DeviceIndex dst_device = dst.device().index();
  const c10::DeviceIndex src_device = src.device().index();
  enablePeerAccess(src_device, dst_device);
  const NPUStream dst_stream = getCurrentNPUStream(dst_device);
  const NPUStream src_stream = getCurrentNPUStream(src_device);
  NPUEvent ready;
  ready.record(dst_stream);
  ready.block(src_stream);
  copyBytes(dst, src, ACL_MEMCPY_DEVICE_TO_DEVICE, src_stream);
  NPUEvent done;
  done.record(src_stream);
  done.block(dst_stream);
}

void copyToPeer(const at::Tensor& dst, const at::Tensor& src) {
  at::Tensor source = src;
  if (!isPlain(src)) {
    const NPUGuard guard(src.device());
    source = emptyTensor(src.sizes(), src.scalar_type(), src.device());
    copyOnDevice(source, src);
  }
  if (isPlain(dst) && sameBytes(dst, source)) {
    copyBytesToPeer(dst, source);
    return;
  }
  const NPUGuard guard(dst.device());
  const at::Tensor staging = emptyLike(source, dst.device());
  copyBytesToPeer(staging, source);
  copyOnDevice(dst, staging.expand(dst.sizes()));
}

at::Tensor copyFrom(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  copyTensor(dst, self, non_blocking);
  return dst;
}

at::Tensor copyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  if (dst.numel() == 0) {
    dst.resize_(self.sizes());
  }
  TORCH_CHECK(self.sizes() == dst.sizes(), "_copy_from_and_resize: expected a destination of ",
              self.sizes(), " or an empty one, but got ", dst.sizes());
  copyTensor(dst, self, /*non_blocking=*/false);
  return dst;
}

}  // namespace

void copyTensor(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  TORCH_CHECK(at::is_expandable_to(src.sizes(), dst.sizes()), "The size of the source ",
              src.sizes(), " cannot be broadcast to the destination's size ", dst.sizes());
  if (dst.numel() == 0 || dst.is_same(src)) {
    return;
  }
  at::assert_no_internal_overlap(dst);
  if (!isNpu(src)) {
    copyFromHost(dst, src, non_blocking);
  } else if (!isNpu(dst)) {
    copyToHost(dst, src, non_blocking);
  } else if (dst.device() != src.device()) {
    copyToPeer(dst, src);
  } else {
    const NPUGuard guard(dst.device());
    const at::Tensor expanded = src.expand(dst.sizes());
    at::assert_no_partial_overlap(dst, expanded);
    copyOnDevice(dst, expanded);
  }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_copy_from", TORCH_FN(copyFrom));
  m.impl("_copy_from_and_resize", TORCH_FN(copyFromAndResize));
}

// The copy does pending conjugations and negations itself. PyTorch's general treatment, which
// copies the tensor first, would come back here for ever.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());
}

}  // namespace torch_npu
