#include "op_compiler/operators.h"

#include "aclnnop/aclnn_abs.h"
#include "aclnnop/aclnn_acos.h"
#include "aclnnop/aclnn_acosh.h"
#include "aclnnop/aclnn_asin.h"
#include "aclnnop/aclnn_asinh.h"
#include "aclnnop/aclnn_atan.h"
#include "aclnnop/aclnn_atan2.h"
#include "aclnnop/aclnn_atanh.h"
#include "aclnnop/aclnn_bitwise_xor_tensor.h"
#include "aclnnop/aclnn_ceil.h"
#include "aclnnop/aclnn_cos.h"
#include "aclnnop/aclnn_cosh.h"
#include "aclnnop/aclnn_div.h"
#include "aclnnop/aclnn_eq_tensor.h"
#include "aclnnop/aclnn_erf.h"
#include "aclnnop/aclnn_erfc.h"
#include "aclnnop/aclnn_erfinv.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_expm1.h"
#include "aclnnop/aclnn_floor.h"
#include "aclnnop/aclnn_floor_divide.h"
#include "aclnnop/aclnn_ge_tensor.h"
#include "aclnnop/aclnn_gt_tensor.h"
#include "aclnnop/aclnn_is_finite.h"
#include "aclnnop/aclnn_le_tensor.h"
#include "aclnnop/aclnn_log.h"
#include "aclnnop/aclnn_log1p.h"
#include "aclnnop/aclnn_logical_and.h"
#include "aclnnop/aclnn_logical_not.h"
#include "aclnnop/aclnn_logical_or.h"
#include "aclnnop/aclnn_lt_tensor.h"
#include "aclnnop/aclnn_maximum.h"
#include "aclnnop/aclnn_minimum.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_ne_tensor.h"
#include "aclnnop/aclnn_neg.h"
#include "aclnnop/aclnn_pow_tensor_tensor.h"
#include "aclnnop/aclnn_reciprocal.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_remainder_tensor_tensor.h"
#include "aclnnop/aclnn_round.h"
#include "aclnnop/aclnn_rsqrt.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_sign.h"
#include "aclnnop/aclnn_sin.h"
#include "aclnnop/aclnn_sinh.h"
#include "aclnnop/aclnn_sqrt.h"
#include "aclnnop/aclnn_tan.h"
#include "aclnnop/aclnn_tanh.h"
#include "aclnnop/aclnn_trunc.h"
#include "aclnnop/aclnn_x_log_y_tensor.h"

namespace softcann {

namespace {

template <auto prepare, Execute execute>
constexpr SingleOperator unary(std::string_view type) {
  return {type,
          [](Operands& operands, uint64_t* size, aclOpExecutor** executor) {
            return prepare(operands.input(0), operands.output(0), size, executor);
          },
          execute};
}

template <auto prepare, Execute execute>
constexpr SingleOperator binary(std::string_view type) {
  return {type,
          [](Operands& operands, uint64_t* size, aclOpExecutor** executor) {
            return prepare(operands.input(0), operands.input(1), operands.output(0), size,
                           executor);
          },
          execute};
}

constexpr SingleOperator kOperators[] = {
    unary<aclnnAbsGetWorkspaceSize, aclnnAbs>("Abs"),
    unary<aclnnAcosGetWorkspaceSize, aclnnAcos>("Acos"),
    unary<aclnnAcoshGetWorkspaceSize, aclnnAcosh>("Acosh"),
    unary<aclnnAsinGetWorkspaceSize, aclnnAsin>("Asin"),
    unary<aclnnAsinhGetWorkspaceSize, aclnnAsinh>("Asinh"),
    unary<aclnnAtanGetWorkspaceSize, aclnnAtan>("Atan"),
    binary<aclnnAtan2GetWorkspaceSize, aclnnAtan2>("Atan2"),
    unary<aclnnAtanhGetWorkspaceSize, aclnnAtanh>("Atanh"),
    binary<aclnnBitwiseXorTensorGetWorkspaceSize, aclnnBitwiseXorTensor>("BitwiseXor"),
    unary<aclnnCeilGetWorkspaceSize, aclnnCeil>("Ceil"),
    unary<aclnnCosGetWorkspaceSize, aclnnCos>("Cos"),
    unary<aclnnCoshGetWorkspaceSize, aclnnCosh>("Cosh"),
    binary<aclnnEqTensorGetWorkspaceSize, aclnnEqTensor>("Equal"),
    unary<aclnnErfGetWorkspaceSize, aclnnErf>("Erf"),
    unary<aclnnErfcGetWorkspaceSize, aclnnErfc>("Erfc"),
    unary<aclnnErfinvGetWorkspaceSize, aclnnErfinv>("Erfinv"),
    unary<aclnnExpGetWorkspaceSize, aclnnExp>("Exp"),
    unary<aclnnExpm1GetWorkspaceSize, aclnnExpm1>("Expm1"),
    unary<aclnnFloorGetWorkspaceSize, aclnnFloor>("Floor"),
    binary<aclnnFloorDivideGetWorkspaceSize, aclnnFloorDivide>("FloorDiv"),
    binary<aclnnRemainderTensorTensorGetWorkspaceSize, aclnnRemainderTensorTensor>("FloorMod"),
    binary<aclnnGtTensorGetWorkspaceSize, aclnnGtTensor>("Greater"),
    binary<aclnnGeTensorGetWorkspaceSize, aclnnGeTensor>("GreaterEqual"),
    unary<aclnnIsFiniteGetWorkspaceSize, aclnnIsFinite>("IsFinite"),
    binary<aclnnLtTensorGetWorkspaceSize, aclnnLtTensor>("Less"),
    binary<aclnnLeTensorGetWorkspaceSize, aclnnLeTensor>("LessEqual"),
    unary<aclnnLogGetWorkspaceSize, aclnnLog>("Log"),
    unary<aclnnLog1pGetWorkspaceSize, aclnnLog1p>("Log1p"),
    binary<aclnnLogicalAndGetWorkspaceSize, aclnnLogicalAnd>("LogicalAnd"),
    unary<aclnnLogicalNotGetWorkspaceSize, aclnnLogicalNot>("LogicalNot"),
    binary<aclnnLogicalOrGetWorkspaceSize, aclnnLogicalOr>("LogicalOr"),
    binary<aclnnMaximumGetWorkspaceSize, aclnnMaximum>("Maximum"),
    binary<aclnnMinimumGetWorkspaceSize, aclnnMinimum>("Minimum"),
    binary<aclnnMulGetWorkspaceSize, aclnnMul>("Mul"),
    unary<aclnnNegGetWorkspaceSize, aclnnNeg>("Neg"),
    binary<aclnnNeTensorGetWorkspaceSize, aclnnNeTensor>("NotEqual"),
    binary<aclnnPowTensorTensorGetWorkspaceSize, aclnnPowTensorTensor>("Pow"),
    binary<aclnnDivGetWorkspaceSize, aclnnDiv>("RealDiv"),
    unary<aclnnReciprocalGetWorkspaceSize, aclnnReciprocal>("Reciprocal"),
    unary<aclnnReluGetWorkspaceSize, aclnnRelu>("Relu"),
    unary<aclnnRoundGetWorkspaceSize, aclnnRound>("Round"),
    unary<aclnnRsqrtGetWorkspaceSize, aclnnRsqrt>("Rsqrt"),
    unary<aclnnSigmoidGetWorkspaceSize, aclnnSigmoid>("Sigmoid"),
    unary<aclnnSignGetWorkspaceSize, aclnnSign>("Sign"),
    unary<aclnnSinGetWorkspaceSize, aclnnSin>("Sin"),
    unary<aclnnSinhGetWorkspaceSize, aclnnSinh>("Sinh"),
    unary<aclnnSqrtGetWorkspaceSize, aclnnSqrt>("Sqrt"),
    unary<aclnnTanGetWorkspaceSize, aclnnTan>("Tan"),
    unary<aclnnTanhGetWorkspaceSize, aclnnTanh>("Tanh"),
    unary<aclnnTruncGetWorkspaceSize, aclnnTrunc>("Trunc"),
    binary<aclnnXLogYTensorGetWorkspaceSize, aclnnXLogYTensor>("Xlogy"),
};

}  // namespace

std::span<const SingleOperator> elementwiseOperators() { return kOperators; }

}  // namespace softcann
