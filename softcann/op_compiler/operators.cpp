#include "op_compiler/operators.h"

#include <utility>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_max_dim.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_silu.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/softcann_dynamic_rnn.h"
#include "aclnnop/softcann_dynamic_rnn_grad.h"
#include "runtime/core/task.h"

namespace softcann {

namespace {

// Copies, and casts between formats: all formats' bytes lie in the order of the origin shape.
aclnnStatus identity(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnInplaceCopyGetWorkspaceSize(operands.output(0), operands.input(0), size, executor);
}

aclnnStatus add(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnAddGetWorkspaceSize(operands.input(0), operands.input(1), operands.one(),
                                  operands.output(0), size, executor);
}

aclnnStatus subtract(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnSubGetWorkspaceSize(operands.input(0), operands.input(1), operands.one(),
                                  operands.output(0), size, executor);
}

aclnnStatus multiply(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnMulGetWorkspaceSize(operands.input(0), operands.input(1), operands.output(0), size,
                                  executor);
}

aclnnStatus divide(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnDivGetWorkspaceSize(operands.input(0), operands.input(1), operands.output(0), size,
                                  executor);
}

// Inputs x1, x2 and a bias that softcann does not add; attributes say which is transposed.
aclError orient(Operands& operands, const char* first, const char* second) {
  if (operands.input(2) != nullptr) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "MatMul: a bias is not supported; add it");
  }
  if (operands.flag(first)) {
    if (const aclError code = operands.transposeInput(0); code != ACL_SUCCESS) return code;
  }
  return operands.flag(second) ? operands.transposeInput(1) : ACL_SUCCESS;
}

aclnnStatus matMul(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (const aclError code = orient(operands, "transpose_x1", "transpose_x2"); code != ACL_SUCCESS) {
    return code;
  }
  return aclnnMmGetWorkspaceSize(operands.input(0), operands.input(1), operands.output(0), 1, size,
                                 executor);
}

aclnnStatus batchMatMul(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (const aclError code = orient(operands, "adj_x1", "adj_x2"); code != ACL_SUCCESS) return code;
  return aclnnMatmulGetWorkspaceSize(operands.input(0), operands.input(1), operands.output(0), 1,
                                     size, executor);
}

aclnnStatus notEqual(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnNeTensorGetWorkspaceSize(operands.input(0), operands.input(1), operands.output(0),
                                       size, executor);
}

// x * sigmoid(scale * x)
aclnnStatus swish(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (operands.number("scale", 1) != 1) {
    return fail(ACL_ERROR_OP_ATTR_NOT_MATCH, "Swish: a scale other than 1 is not supported");
  }
  return aclnnSiluGetWorkspaceSize(operands.input(0), operands.output(0), size, executor);
}

// Outputs the indices and the values.
aclnnStatus argMaxWithValue(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnMaxDimGetWorkspaceSize(operands.input(0), operands.integer("dimension", 0),
                                     operands.flag("keep_dims"), operands.output(1),
                                     operands.output(0), size, executor);
}

// Inputs x, offsets, size.
aclnnStatus slice(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  std::vector<int64_t> starts;
  std::vector<int64_t> sizes;
  for (const auto& [index, values] : {std::pair(1, &starts), std::pair(2, &sizes)}) {
    const aclError code = operands.integers(static_cast<size_t>(index), *values);
    if (code != ACL_SUCCESS) return code;
  }
  if (const aclError code = operands.narrowInput(0, starts, sizes); code != ACL_SUCCESS) {
    return code;
  }
  return identity(operands, size, executor);
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
    {"Add", add, aclnnAdd},
    {"Sub", subtract, aclnnSub},
    {"Mul", multiply, aclnnMul},
    {"RealDiv", divide, aclnnDiv},
    {"MatMul", matMul, aclnnMm},
    {"BatchMatMul", batchMatMul, aclnnMatmul},
    {"NotEqual", notEqual, aclnnNeTensor},
    {"Swish", swish, aclnnSilu},
    {"ArgMaxWithValue", argMaxWithValue, aclnnMaxDim},
    {"Slice", slice, aclnnInplaceCopy},
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
