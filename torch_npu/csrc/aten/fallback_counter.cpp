#include "torch_npu/csrc/aten/fallback_counter.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <c10/util/env.h>

#include <mutex>
#include <unordered_map>

#include "torch_npu/csrc/aten/fallback.h"

namespace torch_npu {
namespace {

struct FallbackCounter {
  std::mutex mutex;
  std::unordered_map<c10::OperatorName, uint64_t> counts;
};

// Never destroyed: operators may still run while the process exits.
FallbackCounter& counter() {
  static auto& instance = *new FallbackCounter;
  return instance;
}

void logFirst(const c10::OperatorName& name) {
  static const bool warns = c10::utils::check_env("TORCH_NPU_LOG_FALLBACK").value_or(false);
  if (warns) {
    TORCH_WARN(c10::toString(name), " has no npu kernel and runs on the host");
  } else {
    LOG(INFO) << c10::toString(name) << " has no npu kernel and runs on the host";
  }
}

}  // namespace

void countFallback(const c10::OperatorName& name) {
  bool is_first = false;
  {
    const std::lock_guard lock(counter().mutex);
    is_first = counter().counts[name]++ == 0;
  }
  if (is_first) {
    logFirst(name);
  }
}

std::map<std::string, uint64_t> fallbackCounts() {
  std::map<std::string, uint64_t> counts;
  const std::lock_guard lock(counter().mutex);
  for (const auto& [name, count] : counter().counts) {
    counts.emplace(c10::toString(name), count);
  }
  return counts;
}

}  // namespace torch_npu
