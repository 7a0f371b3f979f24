#include "aclnn/core/half_precision.h"

#include "runtime/core/platform.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace softcann::aclnn {

namespace {

struct Units {
  bool float16 = false;
  bool bfloat16 = false;
};

// PyTorch's product kernels, its own and oneDNN's, use these where they are.
Units unitsOfCpu() {
  Units units;
#if defined(__x86_64__)
  __builtin_cpu_init();
  units.float16 = __builtin_cpu_supports("avx512fp16") != 0;
  units.bfloat16 =
      __builtin_cpu_supports("avx512bf16") != 0 || __builtin_cpu_supports("amx-bf16") != 0;
#elif defined(__aarch64__)
  units.float16 = (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0;
  units.bfloat16 = (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
#endif
  return units;
}

// A nonsensical setting is reported when the first device starts.
Units readUnits() {
  const Platform* settings = platform();
  switch (settings != nullptr ? settings->half_precision : HalfPrecision::kAuto) {
    case HalfPrecision::kFloat32:
      return {.float16 = false, .bfloat16 = false};
    case HalfPrecision::kNative:
      return {.float16 = true, .bfloat16 = true};
    case HalfPrecision::kAuto:
      break;
  }
  return unitsOfCpu();
}

}  // namespace

bool convertsHalf(at::ScalarType type) {
  static const Units units = readUnits();
  return (type == at::kHalf && !units.float16) || (type == at::kBFloat16 && !units.bfloat16);
}

}  // namespace softcann::aclnn
