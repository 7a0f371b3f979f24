#include "op_compiler/operators.h"

#include <numeric>
#include <utility>
#include <vector>

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_all.h"
#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_amin.h"
#include "aclnnop/aclnn_any.h"
#include "aclnnop/aclnn_apply_adam_w.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_max_dim.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_nonzero.h"
#include "aclnnop/aclnn_nonzero_v2.h"
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_silu.h"
#include "aclnnop/aclnn_sub.h"
#include "aclnnop/aclnn_uniform.h"
#include "aclnnop/softcann_cdist_grad.h"
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

// Attributes say which of the matrices is transposed.
aclError orient(Operands& operands, const char* first, const char* second) {
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

aclnnStatus biasedMatMul(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (const aclError code = orient(operands, "transpose_x1", "transpose_x2"); code != ACL_SUCCESS) {
    return code;
  }
  return aclnnAddmmGetWorkspaceSize(operands.input(2), operands.input(0), operands.input(1),
                                    operands.one(), operands.one(), operands.output(0), 1, size,
                                    executor);
}

aclnnStatus batchMatMul(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (operands.input(2) != nullptr) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, "BatchMatMul: a bias is not supported; add it");
  }
  if (const aclError code = orient(operands, "adj_x1", "adj_x2"); code != ACL_SUCCESS) return code;
  return aclnnMatmulGetWorkspaceSize(operands.input(0), operands.input(1), operands.output(0), 1,
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

// The dimensions in the order that `perm` gives and the shape `shape`, in whichever order the
// attribute transpose_first says.
aclnnStatus confusionTranspose(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  if (!operands.flag("transpose_first")) {
    const aclError code = operands.reshapeInput(0, operands.integers("shape"));
    if (code != ACL_SUCCESS) return code;
  }
  if (const aclError code = operands.permuteInput(0, operands.integers("perm"));
      code != ACL_SUCCESS) {
    return code;
  }
  if (const aclError code = operands.reshapeOutput(0, operands.inputSizes(0));
      code != ACL_SUCCESS) {
    return code;
  }
  return identity(operands, size, executor);
}

aclnnStatus nonZero(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnNonzeroGetWorkspaceSize(operands.input(0), operands.output(0), size, executor);
}

// A row for each dimension instead of one for each element.
aclnnStatus transposedNonZero(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnNonzeroV2GetWorkspaceSize(operands.input(0), operands.output(0), size, executor);
}

// The outputs are the first three inputs' memory.
aclnnStatus applyAdamW(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return aclnnApplyAdamWGetWorkspaceSize(
      operands.output(0), operands.output(1), operands.output(2), operands.input(3),
      operands.input(4), operands.input(5), operands.input(6), operands.input(7), operands.input(8),
      operands.input(9), operands.input(10), operands.writtenInput(11), operands.flag("amsgrad"),
      operands.flag("maximize"), size, executor);
}

aclnnStatus cdistGrad(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  return softcannCdistGradGetWorkspaceSize(operands.input(0), operands.input(1), operands.input(2),
                                           operands.input(3), operands.number("p", 2),
                                           operands.output(0), size, executor);
}

aclnnStatus transpose(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  std::vector<int64_t> order;
  if (const aclError code = operands.integers(1, order); code != ACL_SUCCESS) return code;
  if (const aclError code = operands.permuteInput(0, order); code != ACL_SUCCESS) return code;
  return identity(operands, size, executor);
}

aclnnStatus concatenate(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  std::vector<size_t> all(operands.inputCount());
  std::iota(all.begin(), all.end(), size_t{0});
  const aclTensorList* list = operands.takeInputs(all);
  return aclnnCatGetWorkspaceSize(list, operands.integer("concat_dim", 0), operands.output(0), size,
                                  executor);
}

// Over the dimensions in the second input; none are all.
template <auto prepare>
aclnnStatus reduce(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  std::vector<int64_t> dims;
  if (const aclError code = operands.integers(1, dims); code != ACL_SUCCESS) return code;
  const bool keep = operands.flag("keep_dims");
  const aclIntArray* array = operands.array(dims);
  if constexpr (requires {
                  prepare(operands.input(0), array, keep, operands.output(0), size, executor);
                }) {
    return prepare(operands.input(0), array, keep, operands.output(0), size, executor);
  } else {
    aclDataType type = ACL_DT_UNDEFINED;
    aclGetDataType(operands.output(0), &type);
    return prepare(operands.input(0), array, keep, type, operands.output(0), size, executor);
  }
}

// The seed and the offset of inputs shape, key, counter, alg.
aclError randomState(const Operands& operands, int64_t& seed, int64_t& offset) {
  std::vector<int64_t> key;
  std::vector<int64_t> counter;
  if (const aclError code = operands.integers(1, key); code != ACL_SUCCESS) return code;
  if (const aclError code = operands.integers(2, counter); code != ACL_SUCCESS) return code;
  if (key.size() != 1 || counter.size() != 2) {
    return fail(ACL_ERROR_OP_INPUT_NOT_MATCH,
                "single operator: a key of one number and a counter of two are expected");
  }
  seed = key[0];
  offset = counter[1];
  return ACL_SUCCESS;
}

aclnnStatus randomNormal(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  int64_t seed = 0;
  int64_t offset = 0;
  if (const aclError code = randomState(operands, seed, offset); code != ACL_SUCCESS) return code;
  return aclnnInplaceNormalGetWorkspaceSize(operands.output(0), 0, 1, seed, offset, size, executor);
}

aclnnStatus randomUniform(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  int64_t seed = 0;
  int64_t offset = 0;
  if (const aclError code = randomState(operands, seed, offset); code != ACL_SUCCESS) return code;
  return aclnnInplaceUniformGetWorkspaceSize(operands.output(0), 0, 1, static_cast<uint64_t>(seed),
                                             static_cast<uint64_t>(offset), size, executor);
}

constexpr SingleOperator kOperators[] = {
    {"Identity", identity, aclnnInplaceCopy},
    {"TransData", identity, aclnnInplaceCopy},
    {"Cast", identity, aclnnInplaceCopy},
    {"BroadcastTo", identity, aclnnInplaceCopy},
    {"ConfusionTransposeD", confusionTranspose, aclnnInplaceCopy},
    {"Transpose", transpose, aclnnInplaceCopy},
    {"Slice", slice, aclnnInplaceCopy},
    {"ConcatD", concatenate, aclnnCat},
    {"ReduceAll", reduce<aclnnAllGetWorkspaceSize>, aclnnAll},
    {"ReduceAny", reduce<aclnnAnyGetWorkspaceSize>, aclnnAny},
    {"ReduceMax", reduce<aclnnAmaxGetWorkspaceSize>, aclnnAmax},
    {"ReduceMean", reduce<aclnnMeanGetWorkspaceSize>, aclnnMean},
    {"ReduceMin", reduce<aclnnAminGetWorkspaceSize>, aclnnAmin},
    {"ReduceSum", reduce<aclnnReduceSumGetWorkspaceSize>, aclnnReduceSum},
    {"Add", add, aclnnAdd},
    {"Sub", subtract, aclnnSub},
    {"MatMul", matMul, aclnnMm},
    {"MatMulV2", matMul, aclnnMm},
    {"BatchMatMul", batchMatMul, aclnnMatmul},
    {"Swish", swish, aclnnSilu},
    {"ArgMaxWithValue", argMaxWithValue, aclnnMaxDim},
    {"NonZero", nonZero, aclnnNonzero},
    {"CdistGrad", cdistGrad, softcannCdistGrad},
    {"ApplyAdamW", applyAdamW, aclnnApplyAdamW},
    {"StatelessRandomNormalV2", randomNormal, aclnnInplaceNormal},
    {"StatelessRandomUniformV2", randomUniform, aclnnInplaceUniform},
};

constexpr SingleOperator kBiased[] = {
    {"MatMul", biasedMatMul, aclnnAddmm},
    {"MatMulV2", biasedMatMul, aclnnAddmm},
};

constexpr SingleOperator kTransposed[] = {
    {"NonZero", transposedNonZero, aclnnNonzeroV2},
};

}  // namespace

const SingleOperator* findOperator(std::string_view type, const Operands& operands) {
  std::vector<std::span<const SingleOperator>> tables;
  if (operands.input(2) != nullptr) tables.emplace_back(kBiased);
  if (operands.flag("transpose")) tables.emplace_back(kTransposed);
  tables.insert(tables.end(), {kOperators, elementwiseOperators(), recurrentOperators()});
  for (const auto& table : tables) {
    for (const SingleOperator& each : table) {
      if (each.type == type) return &each;
    }
  }
  return nullptr;
}

}  // namespace softcann
