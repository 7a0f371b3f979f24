#include "torch_npu/csrc/aten/custom_arguments.h"

#include <c10/util/StringUtil.h>

#include <algorithm>
#include <vector>

namespace torch_npu {

void throwUnsupported(const char* op, const char* argument) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": the argument ", argument,
                              " is not supported; leave it out");
}

void checkOneOf(const char* op, const char* argument, int64_t value,
                std::initializer_list<int64_t> supported) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      std::find(supported.begin(), supported.end(), value) != supported.end(), op, ": ", argument,
      " ", value, " is not supported; use ", c10::Join(" or ", std::vector<int64_t>(supported)));
}

int64_t rotaryModeNumber(const char* op, std::string_view mode) {
  if (mode == "half") {
    return 0;
  }
  TORCH_CHECK_VALUE(mode == "interleave", op,
                    ": expected rotary_mode to be 'half' or 'interleave', but got '", mode, "'");
  return 1;
}

c10::IValue rotaryModeWithout(const c10::IValue& rotate, const c10::IValue& mode) {
  TORCH_CHECK_NOT_IMPLEMENTED(!rotate.isTensor() || !rotate.toTensor().defined(),
                              "npu_rotary_mul: there is no gradient with rotate; leave it out, or "
                              "use rotary_mode");
  return mode;
}

}  // namespace torch_npu
