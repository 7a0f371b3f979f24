#include "torch_npu/csrc/aten/descriptors.h"

#include <c10/core/ScalarType.h>

#include <bit>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/aten/formats.h"

namespace torch_npu {

namespace detail {

const DescriptorApi* bound_descriptor_api = nullptr;

const DescriptorApi& bindDescriptorApi() {
  static const DescriptorApi api = [] {
    DescriptorApi bound{};
    const auto bind = [](auto& member, const char* name) {
      void* symbol = acl::opApiSymbol(name);
      TORCH_CHECK(symbol != nullptr,
                  "CANN's operator library (libopapi.so) was not found, or has no ", name);
      member = reinterpret_cast<std::decay_t<decltype(member)>>(symbol);
    };
#define TORCH_NPU_BIND(name) bind(bound.name, #name)
    TORCH_NPU_BIND(aclCreateTensor);
    TORCH_NPU_BIND(aclCreateScalar);
    TORCH_NPU_BIND(aclCreateIntArray);
    TORCH_NPU_BIND(aclCreateFloatArray);
    TORCH_NPU_BIND(aclCreateBoolArray);
    TORCH_NPU_BIND(aclCreateTensorList);
    TORCH_NPU_BIND(aclCreateScalarList);
    TORCH_NPU_BIND(aclDestroyTensor);
    TORCH_NPU_BIND(aclDestroyScalar);
    TORCH_NPU_BIND(aclDestroyIntArray);
    TORCH_NPU_BIND(aclDestroyFloatArray);
    TORCH_NPU_BIND(aclDestroyBoolArray);
    TORCH_NPU_BIND(aclDestroyTensorList);
    TORCH_NPU_BIND(aclDestroyScalarList);
    TORCH_NPU_BIND(aclGetViewShape);
#undef TORCH_NPU_BIND
    return bound;
  }();
  __atomic_store_n(&bound_descriptor_api, &api, __ATOMIC_RELEASE);
  return api;
}

}  // namespace detail

aclDataType toAclType(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return ACL_FLOAT;
    case at::kHalf:
      return ACL_FLOAT16;
    case at::kBFloat16:
      return ACL_BF16;
    case at::kDouble:
      return ACL_DOUBLE;
    case at::kChar:
      return ACL_INT8;
    case at::kShort:
      return ACL_INT16;
    case at::kInt:
      return ACL_INT32;
    case at::kLong:
      return ACL_INT64;
    case at::kByte:
      return ACL_UINT8;
    case at::kUInt16:
      return ACL_UINT16;
    case at::kUInt32:
      return ACL_UINT32;
    case at::kUInt64:
      return ACL_UINT64;
    case at::kBool:
      return ACL_BOOL;
    case at::kComplexHalf:
      return ACL_COMPLEX32;
    case at::kComplexFloat:
      return ACL_COMPLEX64;
    case at::kComplexDouble:
      return ACL_COMPLEX128;
    case at::kFloat8_e5m2:
      return ACL_FLOAT8_E5M2;
    case at::kFloat8_e4m3fn:
      return ACL_FLOAT8_E4M3FN;
    case at::kFloat8_e8m0fnu:
      return ACL_FLOAT8_E8M0;
    default:
      TORCH_CHECK(false, "npu operators take no tensors of dtype ", c10::toString(type));
  }
}

aclTensor* createTensor(const at::Tensor& tensor) {
  const c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
  const c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  const at::ScalarType type = tensor.scalar_type();
  const at::IntArrayRef sizes = impl->sizes();
  const at::IntArrayRef strides = impl->strides();
  // A dtype's size is a power of two, and a shift costs less than a division.
  const auto elements =
      static_cast<int64_t>(storage->nbytes() >> std::countr_zero(c10::elementSize(type)));
  aclTensor* created = descriptorApi().aclCreateTensor(
      sizes.data(), sizes.size(), toAclType(type), strides.data(), impl->storage_offset(),
      descriptorFormat(tensor), &elements, 1, const_cast<void*>(storage->data()));
  TORCH_CHECK(created != nullptr, "aclCreateTensor failed: ", acl::recentErrorMessage());
  return created;
}

aclScalar* createScalar(const at::Scalar& scalar) {
  const auto create = [](auto value, aclDataType type) {
    return descriptorApi().aclCreateScalar(&value, type);
  };
  aclScalar* created = nullptr;
  switch (scalar.type()) {
    case at::kDouble:
      created = create(scalar.toDouble(), ACL_DOUBLE);
      break;
    case at::kLong:
      created = create(scalar.toLong(), ACL_INT64);
      break;
    case at::kUInt64:
      created = create(scalar.toUInt64(), ACL_UINT64);
      break;
    case at::kBool:
      created = create(scalar.toBool(), ACL_BOOL);
      break;
    case at::kComplexDouble:
      created = create(scalar.toComplexDouble(), ACL_COMPLEX128);
      break;
    default:
      TORCH_CHECK(false, "npu operators take no scalar of type ", c10::toString(scalar.type()));
  }
  TORCH_CHECK(created != nullptr, "aclCreateScalar failed: ", acl::recentErrorMessage());
  return created;
}

at::Tensor plainCopy(const at::Tensor& tensor, c10::DeviceIndex device) {
  if (!tensor.device().is_cpu()) {
    return tensor.resolve_conj().resolve_neg();
  }
  // A floating Python number must not promote float32 to float64 on the device, where it is an
  // ordinary tensor.
  const bool number = tensor.unsafeGetTensorImpl()->is_wrapped_number();
  const at::ScalarType type = number && at::isFloatingType(tensor.scalar_type())
                                  ? c10::get_default_dtype_as_scalartype()
                                  : tensor.scalar_type();
  return tensor.to(at::TensorOptions(at::Device(at::kPrivateUse1, device)).dtype(type));
}

template <class Tensors>
ConvertedTensorList::ConvertedTensorList(const Tensors& tensors, LaunchDevice device, Elements)
    : OwnedDescriptor(nullptr) {
  c10::SmallVector<const aclTensor*, 16> elements;
  for (const auto& tensor : tensors) elements.push_back(element(asArgument(tensor), device));
  handle_ = descriptorApi().aclCreateTensorList(elements.data(), elements.size());
}

ConvertedTensorList::ConvertedTensorList(at::TensorList tensors, LaunchDevice device)
    : ConvertedTensorList(tensors, device, Elements()) {}
ConvertedTensorList::ConvertedTensorList(const at::ITensorListRef& tensors, LaunchDevice device)
    : ConvertedTensorList(tensors, device, Elements()) {}
ConvertedTensorList::ConvertedTensorList(const c10::List<std::optional<at::Tensor>>& tensors,
                                         LaunchDevice device)
    : ConvertedTensorList(tensors.vec(), device, Elements()) {}

aclTensor* ConvertedTensorList::element(const at::Tensor& tensor, LaunchDevice device) {
  if (!tensor.defined()) {
    return nullptr;
  }
  if (needsPlainCopy(tensor)) {
    plain_.push_back(plainCopy(tensor, device.index));
    return createTensor(plain_.back());
  }
  return createTensor(tensor);
}

ConvertedScalarList::ConvertedScalarList(at::ArrayRef<at::Scalar> scalars, LaunchDevice)
    : OwnedDescriptor(nullptr) {
  c10::SmallVector<const aclScalar*, 16> elements;
  for (const at::Scalar& scalar : scalars) elements.push_back(createScalar(scalar));
  handle_ = descriptorApi().aclCreateScalarList(elements.data(), elements.size());
}

}  // namespace torch_npu
