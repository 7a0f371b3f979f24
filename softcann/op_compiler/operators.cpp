#include "op_compiler/operators.h"

#include "aclnnop/aclnn_copy.h"
#include "aclnnop/softcann_dynamic_rnn.h"
#include "aclnnop/softcann_dynamic_rnn_grad.h"
#include "runtime/core/task.h"

namespace softcann {

namespace {

// Copies, and casts between formats: all formats' bytes lie in the order of the origin shape.
aclnnStatus identity(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnInplaceCopyGetWorkspaceSize(operands.output(0), operands.input(0), size, executor);
}

// Inputs x, w, b, seq_length, init_h, init_c; outputs y, h, c, i, j, f, o, tanhc.
aclnnStatus dynamicRnn(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (operands.input(3) != nullptr) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "DynamicRNN: sequences of different lengths are not supported; pad them");
  }
  const aclTensorList* trace = operands.takeOutputs({1, 2, 3, 4, 5, 6, 7});
  return softcannDynamicRnnGetWorkspaceSize(
      operands.input(0), operands.input(1), operands.input(2), operands.input(4), operands.input(5),
      operands.output(0), const_cast<aclTensorList*>(trace), size, executor);
}

// Inputs x, w, b, y, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc and what is unused;
// outputs dw, db, dx, dh_prev, dc_prev.
aclnnStatus dynamicRnnGrad(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  const aclTensorList* trace = operands.takeInputs({6, 7, 11, 12, 13, 14, 15});
  return softcannDynamicRnnGradGetWorkspaceSize(
      operands.input(0), operands.input(1), operands.input(2), operands.input(4), operands.input(5),
      operands.input(8), operands.input(9), operands.input(10), trace, operands.output(0),
      operands.output(1), operands.output(2), operands.output(3), operands.output(4), size,
      executor);
}

constexpr SingleOperator kOperators[] = {
    {"Identity", identity, aclnnInplaceCopy},
    {"TransData", identity, aclnnInplaceCopy},
    {"DynamicRNN", dynamicRnn, softcannDynamicRnn},
    {"DynamicRNNGrad", dynamicRnnGrad, softcannDynamicRnnGrad},
};

}  // namespace

const SingleOperator* findOperator(std::string_view type) {
  for (const SingleOperator& each : kOperators) {
    if (each.type == type) return &each;
  }
  return nullptr;
}

}  // namespace softcann
