// Tensors for channels: items and datasets, which are objects of the host.
#include <new>
#include <string>
#include <vector>

#include "acl/acl_tdt.h"
#include "runtime/core/task.h"

using softcann::fail;

struct acltdtDataItem {
  acltdtTensorType type;
  aclDataType data_type;
  void* data;  // the caller's
  size_t size;
  std::vector<int64_t> dims;
};

struct acltdtDataset {
  std::vector<acltdtDataItem*> items;  // the caller's
};

namespace {

aclError bad(const char* function, const std::string& text) noexcept {
  return fail(ACL_ERROR_INVALID_PARAM, std::string(function) + ": " + text);
}

// `value`, or the member that is 0 or null where the item is null.
template <class Object, class Read>
auto readOr(const char* function, const Object* object, Read&& read,
            decltype(read(*object)) otherwise) noexcept {
  if (object != nullptr) return read(*object);
  bad(function, "the item or dataset is null");
  return otherwise;
}

}  // namespace

extern "C" {

acltdtDataItem* acltdtCreateDataItem(acltdtTensorType tdtType, const int64_t* dims, size_t dimNum,
                                     aclDataType dataType, void* data, size_t size) {
  constexpr const char* kName = "acltdtCreateDataItem";
  if (tdtType < ACL_TENSOR_DATA_TENSOR || tdtType > ACL_TENSOR_DATA_END_TENSOR) {
    bad(kName, "there is no type of tensor " + std::to_string(tdtType));
    return nullptr;
  }
  if (dims == nullptr && dimNum > 0) {
    bad(kName, "dims is null");
    return nullptr;
  }
  if (data == nullptr && size > 0) {
    bad(kName, "data is null");
    return nullptr;
  }
  for (size_t i = 0; i < dimNum; ++i) {
    if (dims[i] >= 0) continue;
    bad(kName, "dimension " + std::to_string(i) + " is negative");
    return nullptr;
  }
  try {
    return new acltdtDataItem{tdtType, dataType, data, size,
                              std::vector<int64_t>(dims, dims + dimNum)};
  } catch (const std::bad_alloc&) {
    fail(ACL_ERROR_BAD_ALLOC, "acltdtCreateDataItem: the host is out of memory");
    return nullptr;
  }
}

aclError acltdtDestroyDataItem(acltdtDataItem* dataItem) {
  if (dataItem == nullptr) return bad("acltdtDestroyDataItem", "dataItem is null");
  delete dataItem;
  return ACL_SUCCESS;
}

acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem* dataItem) {
  return readOr(
      "acltdtGetTensorTypeFromItem", dataItem, [](const auto& item) { return item.type; },
      ACL_TENSOR_DATA_UNDEFINED);
}

aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem* dataItem) {
  return readOr(
      "acltdtGetDataTypeFromItem", dataItem, [](const auto& item) { return item.data_type; },
      ACL_DT_UNDEFINED);
}

void* acltdtGetDataAddrFromItem(const acltdtDataItem* dataItem) {
  return readOr(
      "acltdtGetDataAddrFromItem", dataItem, [](const auto& item) { return item.data; }, nullptr);
}

size_t acltdtGetDataSizeFromItem(const acltdtDataItem* dataItem) {
  return readOr(
      "acltdtGetDataSizeFromItem", dataItem, [](const auto& item) { return item.size; }, 0);
}

size_t acltdtGetDimNumFromItem(const acltdtDataItem* dataItem) {
  return readOr(
      "acltdtGetDimNumFromItem", dataItem, [](const auto& item) { return item.dims.size(); }, 0);
}

aclError acltdtGetDimsFromItem(const acltdtDataItem* dataItem, int64_t* dims, size_t dimNum) {
  constexpr const char* kName = "acltdtGetDimsFromItem";
  if (dataItem == nullptr) return bad(kName, "dataItem is null");
  if (dataItem->dims.empty()) return ACL_SUCCESS;
  if (dims == nullptr) return bad(kName, "dims is null");
  if (dimNum < dataItem->dims.size()) {
    return bad(kName, "the item has " + std::to_string(dataItem->dims.size()) +
                          " dimensions, and dims has room for " + std::to_string(dimNum));
  }
  for (const int64_t dim : dataItem->dims) *dims++ = dim;
  return ACL_SUCCESS;
}

aclError acltdtGetSliceInfoFromItem(const acltdtDataItem* dataItem, size_t* sliceNum,
                                    size_t* sliceId) {
  if (dataItem == nullptr || sliceNum == nullptr || sliceId == nullptr) {
    return bad("acltdtGetSliceInfoFromItem", "dataItem, sliceNum or sliceId is null");
  }
  *sliceNum = 0;
  *sliceId = 0;
  return ACL_SUCCESS;
}

acltdtDataset* acltdtCreateDataset(void) {
  auto* dataset = new (std::nothrow) acltdtDataset;
  if (dataset == nullptr) {
    fail(ACL_ERROR_BAD_ALLOC, "acltdtCreateDataset: the host is out of memory");
  }
  return dataset;
}

aclError acltdtDestroyDataset(acltdtDataset* dataset) {
  if (dataset == nullptr) return bad("acltdtDestroyDataset", "dataset is null");
  delete dataset;
  return ACL_SUCCESS;
}

aclError acltdtAddDataItem(acltdtDataset* dataset, acltdtDataItem* dataItem) {
  if (dataset == nullptr || dataItem == nullptr) {
    return bad("acltdtAddDataItem", "dataset or dataItem is null");
  }
  try {
    dataset->items.push_back(dataItem);
    return ACL_SUCCESS;
  } catch (const std::bad_alloc&) {
    return fail(ACL_ERROR_BAD_ALLOC, "acltdtAddDataItem: the host is out of memory");
  }
}

size_t acltdtGetDatasetSize(const acltdtDataset* dataset) {
  return readOr(
      "acltdtGetDatasetSize", dataset, [](const auto& set) { return set.items.size(); }, 0);
}

acltdtDataItem* acltdtGetDataItem(const acltdtDataset* dataset, size_t index) {
  if (dataset != nullptr && index < dataset->items.size()) return dataset->items[index];
  bad("acltdtGetDataItem", "the dataset is null or has no item " + std::to_string(index));
  return nullptr;
}

const char* acltdtGetDatasetName(const acltdtDataset* dataset) {
  return readOr("acltdtGetDatasetName", dataset, [](const auto&) { return ""; }, nullptr);
}

}  // extern "C"
