// aclTensorDesc: what the single-operator interface is told about a tensor.
#include <new>

#include "runtime/api/checks.h"
#include "runtime/core/operator_description.h"

using namespace softcann;

namespace {

aclError requireDims(const char* function, int numDims, const int64_t* dims) {
  if (numDims < 0) {
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string(function) + ": numDims is " + std::to_string(numDims));
  }
  return numDims == 0 ? ACL_SUCCESS : requireNotNull(function, "dims", dims);
}

aclError setDims(const char* function, aclTensorDesc* desc,
                 std::vector<int64_t> aclTensorDesc::* member, int numDims, const int64_t* dims) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull(function, "desc", desc));
    SOFTCANN_TRY(requireDims(function, numDims, dims));
    (desc->*member).assign(dims, dims + numDims);
    return ACL_SUCCESS;
  });
}

aclError setFormat(const char* function, aclTensorDesc* desc, aclFormat aclTensorDesc::* member,
                   aclFormat format) {
  SOFTCANN_TRY(requireNotNull(function, "desc", desc));
  desc->*member = format;
  return ACL_SUCCESS;
}

}  // namespace

extern "C" {

aclTensorDesc* aclCreateTensorDesc(aclDataType dataType, int numDims, const int64_t* dims,
                                   aclFormat format) {
  aclTensorDesc* made = nullptr;
  guarded([&]() -> aclError {
    SOFTCANN_TRY(requireDims("aclCreateTensorDesc", numDims, dims));
    const std::vector<int64_t> sizes(dims, dims + numDims);
    made = new aclTensorDesc{dataType, sizes, format, sizes, format};
    return ACL_SUCCESS;
  });
  return made;
}

void aclDestroyTensorDesc(const aclTensorDesc* desc) { delete desc; }

aclDataType aclGetTensorDescType(const aclTensorDesc* desc) {
  return desc == nullptr ? ACL_DT_UNDEFINED : desc->type;
}

aclFormat aclGetTensorDescFormat(const aclTensorDesc* desc) {
  return desc == nullptr ? ACL_FORMAT_UNDEFINED : desc->format;
}

size_t aclGetTensorDescElementCount(const aclTensorDesc* desc) {
  if (desc == nullptr) return 0;
  size_t count = 1;
  for (const int64_t size : desc->dims) {
    if (size < 0) return 0;
    count *= static_cast<size_t>(size);
  }
  return count;
}

size_t aclGetTensorDescSize(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : aclGetTensorDescElementCount(desc) * aclDataTypeSize(desc->type);
}

size_t aclGetTensorDescNumDims(const aclTensorDesc* desc) {
  return desc == nullptr ? 0 : desc->dims.size();
}

aclError aclGetTensorDescDimV2(const aclTensorDesc* desc, size_t index, int64_t* dimSize) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclGetTensorDescDimV2", "desc", desc));
    SOFTCANN_TRY(requireNotNull("aclGetTensorDescDimV2", "dimSize", dimSize));
    if (index >= desc->dims.size()) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclGetTensorDescDimV2: there is no dimension " +
                                               std::to_string(index) + " among " +
                                               std::to_string(desc->dims.size()));
    }
    *dimSize = desc->dims[index];
    return ACL_SUCCESS;
  });
}

int64_t aclGetTensorDescDim(const aclTensorDesc* desc, size_t index) {
  int64_t size = -1;
  return aclGetTensorDescDimV2(desc, index, &size) == ACL_SUCCESS ? size : -1;
}

void aclSetTensorDescName(aclTensorDesc* desc, const char* name) {
  guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclSetTensorDescName", "desc", desc));
    desc->name = name == nullptr ? "" : name;
    return ACL_SUCCESS;
  });
}

const char* aclGetTensorDescName(aclTensorDesc* desc) {
  return desc == nullptr ? nullptr : desc->name.c_str();
}

aclError aclSetTensorFormat(aclTensorDesc* desc, aclFormat format) {
  return setFormat("aclSetTensorFormat", desc, &aclTensorDesc::storage_format, format);
}

aclError aclSetTensorStorageFormat(aclTensorDesc* desc, aclFormat format) {
  return setFormat("aclSetTensorStorageFormat", desc, &aclTensorDesc::storage_format, format);
}

aclError aclSetTensorOriginFormat(aclTensorDesc* desc, aclFormat format) {
  return setFormat("aclSetTensorOriginFormat", desc, &aclTensorDesc::format, format);
}

aclError aclSetTensorShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return setDims("aclSetTensorShape", desc, &aclTensorDesc::storage_dims, numDims, dims);
}

aclError aclSetTensorStorageShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return setDims("aclSetTensorStorageShape", desc, &aclTensorDesc::storage_dims, numDims, dims);
}

aclError aclSetTensorOriginShape(aclTensorDesc* desc, int numDims, const int64_t* dims) {
  return setDims("aclSetTensorOriginShape", desc, &aclTensorDesc::dims, numDims, dims);
}

aclError aclSetTensorPlaceMent(aclTensorDesc* desc, aclMemType memType) {
  SOFTCANN_TRY(requireNotNull("aclSetTensorPlaceMent", "desc", desc));
  if (memType < ACL_MEMTYPE_DEVICE || memType > ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclSetTensorPlaceMent: there is no memory type " + std::to_string(memType));
  }
  desc->placement = memType;
  return ACL_SUCCESS;
}

aclError aclSetTensorConst(aclTensorDesc* desc, void* dataBuffer, size_t length) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclSetTensorConst", "desc", desc));
    SOFTCANN_TRY(requireNotNull("aclSetTensorConst", "dataBuffer", dataBuffer));
    const auto* bytes = static_cast<const std::byte*>(dataBuffer);
    desc->constant.assign(bytes, bytes + length);
    return ACL_SUCCESS;
  });
}

}  // extern "C"
