// aclopAttr: the attributes that the single-operator interface is given.
#include <new>
#include <utility>

#include "runtime/api/checks.h"
#include "runtime/core/operator_description.h"

using namespace softcann;

namespace {

aclError set(const char* function, aclopAttr* attr, const char* name, AttributeValue value) {
  SOFTCANN_TRY(requireNotNull(function, "attr", attr));
  SOFTCANN_TRY(requireNotNull(function, "attrName", name));
  attr->values.insert_or_assign(name, std::move(value));
  return ACL_SUCCESS;
}

template <class Element, class Source>
aclError setList(const char* function, aclopAttr* attr, const char* name, int count,
                 const Source* values) {
  return guarded([&]() -> aclError {
    if (count < 0) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  std::string(function) + ": numValues is " + std::to_string(count));
    }
    if (count > 0) SOFTCANN_TRY(requireNotNull(function, "values", values));
    return set(function, attr, name, std::vector<Element>(values, values + count));
  });
}

}  // namespace

extern "C" {

aclopAttr* aclopCreateAttr(void) { return new (std::nothrow) aclopAttr; }

void aclopDestroyAttr(const aclopAttr* attr) { delete attr; }

aclError aclopSetAttrBool(aclopAttr* attr, const char* attrName, uint8_t attrValue) {
  return guarded([&] { return set("aclopSetAttrBool", attr, attrName, attrValue != 0); });
}

aclError aclopSetAttrInt(aclopAttr* attr, const char* attrName, int64_t attrValue) {
  return guarded([&] { return set("aclopSetAttrInt", attr, attrName, attrValue); });
}

aclError aclopSetAttrFloat(aclopAttr* attr, const char* attrName, float attrValue) {
  return guarded([&] { return set("aclopSetAttrFloat", attr, attrName, attrValue); });
}

aclError aclopSetAttrString(aclopAttr* attr, const char* attrName, const char* attrValue) {
  return guarded([&]() -> aclError {
    SOFTCANN_TRY(requireNotNull("aclopSetAttrString", "attrValue", attrValue));
    return set("aclopSetAttrString", attr, attrName, std::string(attrValue));
  });
}

aclError aclopSetAttrDataType(aclopAttr* attr, const char* attrName, aclDataType attrValue) {
  return guarded([&] { return set("aclopSetAttrDataType", attr, attrName, attrValue); });
}

aclError aclopSetAttrListBool(aclopAttr* attr, const char* attrName, int numValues,
                              const uint8_t* values) {
  return setList<bool>("aclopSetAttrListBool", attr, attrName, numValues, values);
}

aclError aclopSetAttrListInt(aclopAttr* attr, const char* attrName, int numValues,
                             const int64_t* values) {
  return setList<int64_t>("aclopSetAttrListInt", attr, attrName, numValues, values);
}

aclError aclopSetAttrListFloat(aclopAttr* attr, const char* attrName, int numValues,
                               const float* values) {
  return setList<float>("aclopSetAttrListFloat", attr, attrName, numValues, values);
}

aclError aclopSetAttrListString(aclopAttr* attr, const char* attrName, int numValues,
                                const char** values) {
  return setList<std::string>("aclopSetAttrListString", attr, attrName, numValues, values);
}

aclError aclopSetAttrListDataType(aclopAttr* attr, const char* attrName, int numValues,
                                  const aclDataType values[]) {
  return setList<aclDataType>("aclopSetAttrListDataType", attr, attrName, numValues, values);
}

aclError aclopSetAttrListListInt(aclopAttr* attr, const char* attrName, int numLists,
                                 const int* numValues, const int64_t* const values[]) {
  return guarded([&]() -> aclError {
    if (numLists > 0) {
      SOFTCANN_TRY(requireNotNull("aclopSetAttrListListInt", "numValues", numValues));
      SOFTCANN_TRY(requireNotNull("aclopSetAttrListListInt", "values", values));
    }
    std::vector<std::vector<int64_t>> lists;
    for (int i = 0; i < numLists; ++i) lists.emplace_back(values[i], values[i] + numValues[i]);
    return set("aclopSetAttrListListInt", attr, attrName, std::move(lists));
  });
}

}  // extern "C"
