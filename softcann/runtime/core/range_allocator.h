// First-fit allocator of address ranges. Keeps no data inside the ranges. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

namespace softcann {

class RangeAllocator {
 public:
  RangeAllocator(uintptr_t begin, size_t size) { free_.emplace(begin, size); }

  std::optional<uintptr_t> allocate(size_t size, size_t alignment) {
    for (auto range = free_.begin(); range != free_.end(); ++range) {
      const uintptr_t begin = (range->first + alignment - 1) / alignment * alignment;
      const uintptr_t end = range->first + range->second;
      if (begin > end || end - begin < size) continue;
      const uintptr_t head = range->first;
      free_.erase(range);
      if (begin > head) free_.emplace(head, begin - head);
      if (end > begin + size) free_.emplace(begin + size, end - begin - size);
      return begin;
    }
    return std::nullopt;
  }

  void release(uintptr_t begin, size_t size) {
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && begin + size == next->first) {
      size += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      auto previous = std::prev(next);
      if (previous->first + previous->second == begin) {
        previous->second += size;
        return;
      }
    }
    free_.emplace(begin, size);
  }

 private:
  std::map<uintptr_t, size_t> free_;  // begin -> size; neighbours are merged
};

}  // namespace softcann
