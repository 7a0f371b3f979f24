#include "torch_npu/csrc/aten/formats.h"

#include <ATen/ops/alias.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "aclnn/acl_meta.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/aten/derivation.h"

namespace torch_npu {

namespace {

using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

// A weak reference keeps the key's address from being used again while its entry stands.
class StorageFormats {
 public:
  static StorageFormats& instance() {
    static auto* formats = new StorageFormats;  // outlives every tensor
    return *formats;
  }

  std::optional<int64_t> find(const at::Tensor& tensor) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = entries_.find(key(tensor));
    return found == entries_.end() ? std::nullopt : std::optional<int64_t>(found->second.format);
  }

  void set(const at::Tensor& tensor, int64_t format) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (entries_.size() >= purge_at_) {
      std::erase_if(entries_, [](const auto& item) { return item.second.storage.expired(); });
      purge_at_ = 2 * entries_.size() + kSmallest;
    }
    entries_.insert_or_assign(key(tensor),
                              Entry{WeakStorage(tensor.storage().getWeakStorageImpl()), format});
  }

 private:
  static constexpr size_t kSmallest = 64;
  struct Entry {
    WeakStorage storage;
    int64_t format;
  };
  static const c10::StorageImpl* key(const at::Tensor& tensor) {
    return tensor.storage().unsafeGetStorageImpl();
  }

  std::mutex mutex_;
  std::unordered_map<const c10::StorageImpl*, Entry> entries_;
  size_t purge_at_ = kSmallest;
};

bool isBaseFormat(int64_t format) {
  switch (format) {
    case ACL_FORMAT_NCHW:
    case ACL_FORMAT_NHWC:
    case ACL_FORMAT_ND:
    case ACL_FORMAT_HWCN:
    case ACL_FORMAT_NDHWC:
    case ACL_FORMAT_NCDHW:
    case ACL_FORMAT_NC:
    case ACL_FORMAT_NCL:
      return true;
    default:
      return false;
  }
}

// Set by the first cast to a private format: until then no descriptor has to look for one.
constinit std::atomic<bool> private_formats{false};

bool operatorsAreSoftcanns() {
  static const bool found = acl::opApiSymbol("softcannStrictMode") != nullptr;
  return found;
}

constexpr std::array<int64_t, 8> kPrivateFormats = {
    ACL_FORMAT_NC1HWC0,          ACL_FORMAT_FRACTAL_Z,      ACL_FORMAT_FRACTAL_NZ,
    ACL_FORMAT_NDC1HWC0,         ACL_FRACTAL_Z_3D,          ACL_FORMAT_FRACTAL_NZ_C0_16,
    ACL_FORMAT_FRACTAL_NZ_C0_32, ACL_FORMAT_FRACTAL_NZ_C0_8};

void checkFormat(const char* op, int64_t format) {
  const bool known =
      isBaseFormat(format) ||
      std::find(kPrivateFormats.begin(), kPrivateFormats.end(), format) != kPrivateFormats.end();
  TORCH_CHECK_VALUE(known, op, ": acl_format ", format,
                    " is no format that a tensor can have; torch_npu.Format lists them");
}

void checkPlainDtype(const char* op, std::optional<int64_t> input_dtype) {
  TORCH_CHECK_NOT_IMPLEMENTED(!input_dtype.has_value(), op,
                              ": the argument input_dtype is not supported; leave it out");
}

int64_t getFormat(const at::Tensor& self) { return storageFormat(self); }

at::Tensor formatCast(const at::Tensor& self, int64_t acl_format,
                      std::optional<int64_t> /*customize_dtype*/,  // only the size of a tile
                      std::optional<int64_t> input_dtype) {
  checkFormat("npu_format_cast", acl_format);
  checkPlainDtype("npu_format_cast", input_dtype);
  const int64_t present = storageFormat(self);
  if (present == acl_format) {
    return at::alias(self);
  }
  if (isBaseFormat(present) && isBaseFormat(acl_format)) {
    setStorageFormat(self, acl_format);  // the same memory under another name, as on a card
    return at::alias(self);
  }
  at::Tensor result = at::clone(self);
  setStorageFormat(result, acl_format);
  return result;
}

at::Tensor formatCastLike(const at::Tensor& self, const at::Tensor& dst,
                          std::optional<int64_t> customize_dtype,
                          std::optional<int64_t> input_dtype) {
  return formatCast(self, storageFormat(dst), customize_dtype, input_dtype);
}

at::Tensor& formatCastInplace(at::Tensor& self, int64_t acl_format,
                              std::optional<int64_t> /*customize_dtype*/,
                              std::optional<int64_t> input_dtype) {
  checkFormat("npu_format_cast_", acl_format);
  checkPlainDtype("npu_format_cast_", input_dtype);
  setStorageFormat(self, acl_format);
  return self;
}

at::Tensor& formatCastInplaceLike(at::Tensor& self, const at::Tensor& src,
                                  std::optional<int64_t> customize_dtype,
                                  std::optional<int64_t> input_dtype) {
  return formatCastInplace(self, storageFormat(src), customize_dtype, input_dtype);
}

// A meta tensor has no storage to note a format for.
at::Tensor formatCastMeta(const at::Tensor& self, int64_t acl_format,
                          std::optional<int64_t> /*customize_dtype*/,
                          std::optional<int64_t> input_dtype) {
  checkFormat("npu_format_cast", acl_format);
  checkPlainDtype("npu_format_cast", input_dtype);
  return at::clone(self);
}

at::Tensor emptyWithFormat(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                           std::optional<at::Layout> layout, std::optional<at::Device> device,
                           std::optional<bool> pin_memory, int64_t acl_format) {
  checkFormat("empty_with_format", acl_format);
  const at::Device target = device.value_or(at::Device(at::kPrivateUse1));
  TORCH_CHECK(target.is_privateuseone(), "empty_with_format: expected an npu device, but got ",
              target);
  at::Tensor result = at::empty(size, dtype, layout, target, pin_memory, std::nullopt);
  setStorageFormat(result, acl_format);
  return result;
}

at::Tensor emptyWithFormatAligned(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                                  std::optional<at::Layout> layout,
                                  std::optional<at::Device> device, std::optional<bool> pin_memory,
                                  int64_t acl_format, std::optional<int64_t> base_addr_aligned_kb) {
  TORCH_CHECK_NOT_IMPLEMENTED(!base_addr_aligned_kb.has_value(),
                              "empty_with_format: the argument base_addr_aligned_kb is not "
                              "supported; leave it out");
  return emptyWithFormat(size, dtype, layout, device, pin_memory, acl_format);
}

at::Tensor unsafeEmptyWithFormat(at::IntArrayRef size, std::optional<at::ScalarType> dtype,
                                 std::optional<at::Layout> layout, std::optional<at::Device> device,
                                 std::optional<bool> pin_memory, int64_t acl_format,
                                 bool /*keep_format*/) {
  return emptyWithFormat(size, dtype, layout, device, pin_memory, acl_format);
}

int64_t roundUp(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Elements of memory that a card would use for the tensor.
int64_t storageSize(const at::Tensor& self) {
  const int64_t format = storageFormat(self);
  if (isBaseFormat(format)) {
    return static_cast<int64_t>(self.storage().nbytes() / self.itemsize());
  }
  TORCH_CHECK_NOT_IMPLEMENTED(format == ACL_FORMAT_FRACTAL_NZ && self.dim() >= 2,
                              "get_storage_size: known for FRACTAL_NZ and formats without "
                              "padding, but not for format ",
                              format);
  constexpr int64_t kTile = 16;
  const int64_t columns = self.itemsize() == 1 ? 2 * kTile : kTile;
  const auto leading = self.sizes().slice(0, static_cast<size_t>(self.dim() - 2));
  return c10::multiply_integers(leading) * roundUp(self.size(-2), kTile) *
         roundUp(self.size(-1), columns);
}

// A cast moves no data, so the gradient passes in ND.
const Derivative kCastDerivative{.name = "npu::npu_format_cast",
                                 .backward = {"npu::npu_format_cast", ""},
                                 .targets = {0},
                                 .inputs = {},
                                 .described = {},
                                 .outputs = {},
                                 .gradients = {0},
                                 .arguments = [](const Derivation& call) -> torch::jit::Stack {
                                   return {call.grad(0), static_cast<int64_t>(ACL_FORMAT_ND)};
                                 }};

}  // namespace

int64_t storageFormat(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().is_privateuseone(), "expected an npu tensor, but got one on ",
              tensor.device());
  if (const auto noted = StorageFormats::instance().find(tensor)) {
    return *noted;
  }
  switch (tensor.dim()) {
    case 4:
      return ACL_FORMAT_NCHW;
    case 5:
      return ACL_FORMAT_NCDHW;
    default:
      return ACL_FORMAT_ND;
  }
}

aclFormat descriptorFormat(const at::Tensor& tensor) {
  if (C10_LIKELY(!private_formats.load(std::memory_order_relaxed)) ||
      !tensor.device().is_privateuseone()) {
    return ACL_FORMAT_ND;
  }
  const auto noted = StorageFormats::instance().find(tensor);
  return noted && !isBaseFormat(*noted) ? static_cast<aclFormat>(*noted) : ACL_FORMAT_ND;
}

void setStorageFormat(const at::Tensor& tensor, int64_t format) {
  TORCH_CHECK(tensor.device().is_privateuseone(), "expected an npu tensor, but got one on ",
              tensor.device());
  if (!isBaseFormat(format) && operatorsAreSoftcanns()) {
    private_formats.store(true, std::memory_order_relaxed);
  }
  StorageFormats::instance().set(tensor, format);
}

TORCH_LIBRARY_FRAGMENT(npu, m) {
  m.def("get_npu_format(Tensor self) -> int");
  m.def("get_storage_size(Tensor self) -> int");
  m.def(
      "npu_format_cast(Tensor self, int acl_format, *, int? customize_dtype=None, "
      "int? input_dtype=None) -> Tensor");
  m.def(
      "npu_format_cast.Tensor(Tensor self, Tensor dst, *, int? customize_dtype=None, "
      "int? input_dtype=None) -> Tensor");
  m.def(
      "npu_format_cast_(Tensor(a!) self, Tensor src, *, int? customize_dtype=None, "
      "int? input_dtype=None) -> Tensor(a!)");
  m.def(
      "npu_format_cast_.acl_format(Tensor(a!) self, int acl_format, *, "
      "int? customize_dtype=None, int? input_dtype=None) -> Tensor(a!)");
  m.def(
      "empty_with_format(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, int acl_format=2, "
      "int? base_addr_aligned_kb=None) -> Tensor",
      torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                      TORCH_FN(emptyWithFormatAligned)));
  m.def(
      "unsafe_empty_with_format(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
      "Device? device=None, bool? pin_memory=None, int acl_format=2, bool keep_format=False) "
      "-> Tensor",
      torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd,
                      TORCH_FN(unsafeEmptyWithFormat)));
}

TORCH_LIBRARY_IMPL(npu, PrivateUse1, m) {
  m.impl("get_npu_format", TORCH_FN(getFormat));
  m.impl("get_storage_size", TORCH_FN(storageSize));
  m.impl("npu_format_cast", TORCH_FN(formatCast));
  m.impl("npu_format_cast.Tensor", TORCH_FN(formatCastLike));
  m.impl("npu_format_cast_", TORCH_FN(formatCastInplaceLike));
  m.impl("npu_format_cast_.acl_format", TORCH_FN(formatCastInplace));
}

TORCH_LIBRARY_IMPL(npu, Meta, m) { m.impl("npu_format_cast", TORCH_FN(formatCastMeta)); }

TORCH_LIBRARY_IMPL(npu, AutogradPrivateUse1, m) {
  m.impl("npu_format_cast", differentiable({&kCastDerivative}));
  m.impl("npu_format_cast.Tensor", differentiable({&kCastDerivative}));
}

}  // namespace torch_npu
