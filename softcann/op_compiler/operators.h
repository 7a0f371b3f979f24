// The single operators that softcann has, each as a call of an aclnn function.
#pragma once

#include <span>
#include <string_view>

#include "aclnn/acl_meta.h"
#include "op_compiler/operands.h"

namespace softcann {

using Prepare = aclnnStatus(Operands& operands, uint64_t* workspace_size, aclOpExecutor** executor);
using Execute = aclnnStatus(void* workspace, uint64_t workspace_size, aclOpExecutor* executor,
                            aclrtStream stream);

// Both phases of the aclnn function.
struct SingleOperator {
  std::string_view type;
  Prepare* prepare;
  Execute* execute;
};

// nullptr if there is none of this name. Some compute by another function where there is a
// bias, or where the result is to be transposed.
const SingleOperator* findOperator(std::string_view type, const Operands& operands);

// Those that are an aclnn function with the same inputs and outputs and nothing else.
std::span<const SingleOperator> elementwiseOperators();
// Layers of LSTM.
std::span<const SingleOperator> recurrentOperators();

}  // namespace softcann
