// The single operators that softcann has, each as a call of an aclnn function.
#pragma once

#include <string_view>

#include "aclnn/acl_meta.h"
#include "op_compiler/operands.h"

namespace softcann {

struct SingleOperator {
  std::string_view type;
  // Both phases of the aclnn function.
  aclnnStatus (*prepare)(Operands& operands, uint64_t* workspace_size, aclOpExecutor** executor);
  aclnnStatus (*execute)(void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                         aclrtStream stream);
};

// nullptr if there is none of this name.
const SingleOperator* findOperator(std::string_view type);

}  // namespace softcann
