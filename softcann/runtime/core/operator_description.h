// The objects behind aclTensorDesc and aclopAttr. The handle is the object.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "acl/acl_op.h"

namespace softcann {

using AttributeValue =
    std::variant<bool, int64_t, float, std::string, aclDataType, std::vector<bool>,
                 std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                 std::vector<aclDataType>, std::vector<std::vector<int64_t>>>;

}  // namespace softcann

struct aclTensorDesc {
  aclDataType type;
  std::vector<int64_t> dims;
  aclFormat format;
  std::vector<int64_t> storage_dims;
  aclFormat storage_format;
  aclMemType placement = ACL_MEMTYPE_DEVICE;
  std::string name;
  std::vector<std::byte> constant;  // empty: no value was given
};

struct aclopAttr {
  std::map<std::string, softcann::AttributeValue> values;
};
