#include "torch_npu/csrc/aten/random.h"

#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/core/npu_generator.h"

namespace torch_npu {

RandomState drawRandom(const std::optional<at::Generator>& generator, int64_t count) {
  const at::Generator& chosen = generator.has_value() && generator->defined()
                                    ? *generator
                                    : getDefaultNPUGenerator(currentDevice());
  TORCH_CHECK(chosen.device().is_privateuseone(),
              "Expected a 'npu' device type for generator but found '", chosen.device().type(),
              "'");
  const auto [seed, offset] =
      chosen.get<NPUGeneratorImpl>()->philoxSeedOffset(static_cast<uint64_t>(count));
  return {static_cast<int64_t>(seed), static_cast<int64_t>(offset)};
}

}  // namespace torch_npu
