#include "torch_npu/csrc/core/allocator_config.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <c10/core/AllocatorConfig.h>
#include <c10/util/Exception.h>

#include "torch_npu/csrc/core/caching_allocator.h"

namespace torch_npu {

namespace {

using c10::CachingAllocator::AcceleratorAllocatorConfig;

constexpr const char* kVariable = "PYTORCH_NPU_ALLOC_CONF";

struct Setting {
  std::string key;
  std::string value;
};

[[noreturn]] void refuse(const Setting& setting, const std::string& reason) {
  TORCH_CHECK_VALUE(false, kVariable, ": '", setting.key, ":", setting.value, "': ", reason);
}

std::string withoutSpaces(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (!std::isspace(static_cast<unsigned char>(c))) {
      result += c;
    }
  }
  return result;
}

// "a:1,b:[x:2,y:3]" in parts, at the commas outside brackets.
std::vector<Setting> split(const std::string& text) {
  std::vector<Setting> settings;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') {
      ++depth;
    } else if (i < text.size() && text[i] == ']') {
      --depth;
    } else if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string part = text.substr(begin, i - begin);
      begin = i + 1;
      if (part.empty()) {
        continue;
      }
      const size_t colon = part.find(':');
      TORCH_CHECK_VALUE(colon != std::string::npos && colon + 1 < part.size() && colon > 0,
                        kVariable, ": '", part, "' is not of the form key:value");
      settings.push_back({part.substr(0, colon), part.substr(colon + 1)});
    }
  }
  TORCH_CHECK_VALUE(depth == 0, kVariable, ": brackets do not match in '", text, "'");
  return settings;
}

// False, with `value` 0, unless the whole text is a number.
template <class Number>
bool parseNumber(std::string_view text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) {
    value = 0;
    return false;
  }
  return true;
}

// Megabytes: at most what still fits in bytes.
void checkMegabytes(const Setting& setting, uint64_t least) {
  uint64_t value = 0;
  if (!parseNumber(setting.value, value) || value > (uint64_t{1} << 44)) {
    refuse(setting, "expected a whole number of MiB");
  }
  if (value < least) {
    refuse(setting, "expected at least " + std::to_string(least));
  }
}

double checkFraction(const Setting& setting, bool one_allowed) {
  double value = 0;
  // A text that is no number leaves 0, and NaN compares false: both are out of range.
  (void)parseNumber(setting.value, value);
  const bool in_range = value > 0 && (one_allowed ? value <= 1 : value < 1);
  if (!in_range) {
    refuse(setting, one_allowed ? "expected a number above 0 and at most 1"
                                : "expected a number between 0 and 1, both excluded");
  }
  return value;
}

void checkBool(const Setting& setting) {
  if (setting.value != "True" && setting.value != "False") {
    refuse(setting, "expected True or False");
  }
}

void checkRange(const Setting& setting, uint64_t least, uint64_t most) {
  uint64_t value = 0;
  if (!parseNumber(setting.value, value) || value < least || value > most) {
    refuse(setting,
           "expected a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  }
}

void checkPageSize(const Setting& setting) {
  if (setting.value != "1g") {
    refuse(setting, "the only page size to choose is 1g");
  }
}

bool isPowerOfTwo(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

// A power of two, or a list such as [256:1,512:2,>:4]: from which size on, in how many steps.
void checkDivisions(const Setting& setting) {
  const std::string& value = setting.value;
  uint64_t divisions = 0;
  if (value.front() != '[') {
    if (!parseNumber(value, divisions) || !isPowerOfTwo(divisions)) {
      refuse(setting, "expected a power of two or a list such as [256:1,512:2,>:4]");
    }
    return;
  }
  for (const Setting& item : split(value.substr(1, value.size() - 2))) {
    uint64_t size = 0;
    const bool size_valid = item.key == ">" || (parseNumber(item.key, size) && isPowerOfTwo(size));
    if (!size_valid || !parseNumber(item.value, divisions) || !isPowerOfTwo(divisions)) {
      refuse(setting, "'" + item.key + ":" + item.value + "' is not a pair of powers of two");
    }
  }
}

void checkBackend(const Setting& setting) {
  if (setting.value != "native") {
    refuse(setting, "the only allocator of an NPU is 'native'");
  }
}

std::atomic<double> memory_fraction{1.0};

using Check = void (*)(const Setting&);

// Settings that PyTorch's own parser takes.
const std::unordered_map<std::string_view, Check>& sharedKeys() {
  static const auto* keys = new std::unordered_map<std::string_view, Check>{
      {"max_split_size_mb", [](const Setting& s) { checkMegabytes(s, 21); }},
      {"max_non_split_rounding_mb", [](const Setting& s) { checkMegabytes(s, 21); }},
      {"large_segment_size_mb", [](const Setting& s) { checkMegabytes(s, 20); }},
      {"garbage_collection_threshold", [](const Setting& s) { checkFraction(s, false); }},
      {"roundup_power2_divisions", checkDivisions},
      {"expandable_segments", checkBool},
      {"pinned_use_background_threads", checkBool},
      {"pinned_max_round_threshold_mb", [](const Setting& s) { checkMegabytes(s, 1); }},
      {"pinned_max_cached_size_mb", [](const Setting& s) { checkMegabytes(s, 1); }},
  };
  return *keys;
}

// Settings of this backend's own.
const std::unordered_map<std::string_view, Check>& ownKeys() {
  static const auto* keys = new std::unordered_map<std::string_view, Check>{
      {"backend", checkBackend},
      {"base_addr_aligned_kb", [](const Setting& s) { checkRange(s, 0, 16); }},
      {"page_size", checkPageSize},
      {"segment_size_mb", [](const Setting& s) { checkRange(s, 20, 512); }},
      {"pinned_reserve_segment_size_mb", [](const Setting& s) { checkMegabytes(s, 0); }},
      // These concern how the driver is called, which makes no difference in software.
      {"pin_memory_expandable_segments", checkBool},
      {"pinned_mem_register", checkBool},
      {"multi_stream_lazy_reclaim", checkBool},
      {"release_lock_on_npumalloc", checkBool},
      {"per_process_memory_fraction", [](const Setting& s) { checkFraction(s, true); }},
  };
  return *keys;
}

// Settings of other backends, and what to use instead.
const std::unordered_map<std::string_view, const char*>& refusedKeys() {
  static const auto* keys = new std::unordered_map<std::string_view, const char*>{
      {"release_lock_on_cudamalloc", "it is for CUDA; the NPU allocator has no such setting"},
      {"release_lock_on_hipmalloc", "it is for HIP; the NPU allocator has no such setting"},
      {"pinned_use_cuda_host_register", "it is for CUDA; pinned memory comes from aclrtMallocHost"},
      {"pinned_use_hip_host_register", "it is for HIP; pinned memory comes from aclrtMallocHost"},
      {"pinned_num_register_threads", "it is for CUDA; pinned memory comes from aclrtMallocHost"},
      {"graph_capture_record_stream_reuse",
       "not offered; memory that other streams use during a "
       "capture is free when the capture has ended"},
      {"throw_on_cudamalloc_oom", "it is for CUDA; running out of memory always raises"},
  };
  return *keys;
}

std::string validKeys() {
  std::string names;
  for (const auto* keys : {&sharedKeys(), &ownKeys()}) {
    for (const auto& [key, check] : *keys) {
      names += (names.empty() ? "" : ", ") + std::string(key);
    }
  }
  return names;
}

void check(const Setting& setting) {
  for (const auto* keys : {&sharedKeys(), &ownKeys()}) {
    const auto found = keys->find(setting.key);
    if (found != keys->end()) {
      found->second(setting);
      return;
    }
  }
  const auto refused = refusedKeys().find(setting.key);
  refuse(setting, refused != refusedKeys().end() ? refused->second
                                                 : "unknown key; known are " + validKeys());
}

// Expandable segments are never split or collected as a whole, so that Ascend refuses the limits
// for that beside them.
void checkPairs(const std::vector<Setting>& settings) {
  const bool expandable = std::any_of(settings.begin(), settings.end(), [](const Setting& s) {
    return s.key == "expandable_segments" && s.value == "True";
  });
  for (const Setting& setting : settings) {
    if (expandable &&
        (setting.key == "max_split_size_mb" || setting.key == "garbage_collection_threshold")) {
      refuse(setting, "cannot be combined with expandable_segments:True; leave one of them out");
    }
  }
}

// Called by PyTorch when settings change by whatever way, after its own parser has run.
void onSettingsParsed(const std::string& text) {
  for (const Setting& setting : split(withoutSpaces(text))) {
    if (ownKeys().count(setting.key) != 0) {
      check(setting);
    }
    if (setting.key == "per_process_memory_fraction") {
      memory_fraction.store(checkFraction(setting, true));
      cachingAllocator()->setDefaultMemoryFraction(configuredMemoryFraction());
    }
  }
  cachingAllocator()->configurationChanged();
}

// Tells PyTorch's parser which other keys are legitimate, and to pass settings on.
const bool registered = [] {
  auto& keys = AcceleratorAllocatorConfig::getMutableKeys();
  for (const auto& [key, check_function] : ownKeys()) {
    keys.insert(std::string(key));
  }
  AcceleratorAllocatorConfig::getConfigParserHook() = onSettingsParsed;
  return true;
}();

}  // namespace

void setAllocatorSettings(const std::string& settings) {
  std::string text = withoutSpaces(settings);
  const std::vector<Setting> parts = split(text);
  for (const Setting& setting : parts) {
    check(setting);
  }
  checkPairs(parts);
  for (const Setting& setting : parts) {
    // Ascend's older name.
    if (setting.key == "segment_size_mb") {
      text += ",large_segment_size_mb:" + setting.value;
    } else if (setting.key == "page_size") {
      text += ",large_segment_size_mb:1024";
    }
  }
  c10::CachingAllocator::setAllocatorSettings(text);
}

void applyAllocatorEnvironment() {
  static std::once_flag applied;
  std::call_once(applied, [] {
    const char* text = std::getenv(kVariable);
    if (text != nullptr && *text != '\0') {
      setAllocatorSettings(text);
    }
  });
}

double configuredMemoryFraction() { return memory_fraction.load(); }

}  // namespace torch_npu
