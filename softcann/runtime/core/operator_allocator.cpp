#include "runtime/core/operator_allocator.h"

#include <map>
#include <mutex>

namespace softcann {
namespace {

struct Allocators {
  std::mutex mutex;
  std::map<const Stream*, OperatorAllocator> by_stream;
};

Allocators& allocators() {
  static auto* allocators = new Allocators;
  return *allocators;
}

}  // namespace

void registerAllocator(const Stream* stream, const OperatorAllocator& allocator) {
  std::lock_guard lock(allocators().mutex);
  allocators().by_stream[stream] = allocator;
}

bool forgetAllocator(const Stream* stream) noexcept {
  std::lock_guard lock(allocators().mutex);
  return allocators().by_stream.erase(stream) != 0;
}

std::optional<OperatorAllocator> allocatorOf(const Stream* stream) {
  std::lock_guard lock(allocators().mutex);
  const auto found = allocators().by_stream.find(stream);
  if (found == allocators().by_stream.end()) return std::nullopt;
  return found->second;
}

}  // namespace softcann
