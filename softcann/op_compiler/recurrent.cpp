#include "aclnnop/softcann_dynamic_rnn.h"
#include "aclnnop/softcann_dynamic_rnn_grad.h"
#include "op_compiler/operators.h"

namespace softcann {

namespace {

bool reversed(const Operands& operands) { return operands.text("direction") == "REDIRECTIONAL"; }

// Inputs x, w, b, seq_length, init_h, init_c; outputs y, h, c, i, j, f, o, tanhc. The second
// version has the weights of input and hidden state apart.
template <bool second>
aclnnStatus dynamicRnn(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  constexpr size_t kBias = second ? 3 : 2;
  const aclTensorList* trace = operands.takeOutputs({1, 2, 3, 4, 5, 6, 7});
  return softcannDynamicRnnGetWorkspaceSize(
      operands.input(0), operands.input(1), second ? operands.input(2) : nullptr,
      operands.input(kBias), operands.input(kBias + 1), operands.input(kBias + 2),
      operands.input(kBias + 3), reversed(operands), operands.output(0),
      const_cast<aclTensorList*>(trace), size, executor);
}

// Inputs x, w, b, y, init_h, init_c, h, c, dy, dh, dc, i, j, f, o, tanhc, seq_length and what is
// unused, where the second version has the hidden state's weight for b; outputs dw, that weight's
// gradient in the second version, db, dx, dh_prev, dc_prev.
template <bool second>
aclnnStatus dynamicRnnGrad(Operands& operands, uint64_t* size, aclOpExecutor** executor) {
  constexpr size_t kBias = second ? 2 : 1;
  const aclTensorList* trace = operands.takeInputs({6, 7, 11, 12, 13, 14, 15});
  return softcannDynamicRnnGradGetWorkspaceSize(
      operands.input(0), operands.input(1), second ? operands.input(2) : nullptr,
      operands.input(16), operands.input(4), operands.input(5), reversed(operands),
      operands.input(8), operands.input(9), operands.input(10), trace, operands.output(0),
      second ? operands.output(1) : nullptr, operands.output(kBias), operands.output(kBias + 1),
      operands.output(kBias + 2), operands.output(kBias + 3), size, executor);
}

constexpr SingleOperator kOperators[] = {
    {"DynamicRNN", dynamicRnn<false>, softcannDynamicRnn},
    {"DynamicRNNGrad", dynamicRnnGrad<false>, softcannDynamicRnnGrad},
    {"DynamicRNNV2", dynamicRnn<true>, softcannDynamicRnn},
    {"DynamicRNNV2Grad", dynamicRnnGrad<true>, softcannDynamicRnnGrad},
};

}  // namespace

std::span<const SingleOperator> recurrentOperators() { return kOperators; }

}  // namespace softcann
