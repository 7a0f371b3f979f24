#include "runtime/core/platform.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>

#include "runtime/core/task.h"

namespace softcann {
namespace {

constexpr size_t kGiB = size_t{1} << 30;
constexpr int kMaxDevices = 64;
#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer leaves less of the address space to the program.
constexpr size_t kDefaultAddressSpace = 256 * kGiB;
#else
constexpr size_t kDefaultAddressSpace = 4096 * kGiB;
#endif

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr SocSpec kSocs[] = {
    {"Ascend910B1", 25, 50, 6, 192 * kMiB, 192 * kKiB, 2201},
    {"Ascend910B2", 24, 48, 6, 192 * kMiB, 192 * kKiB, 2201},
    {"Ascend910B2C", 24, 48, 6, 192 * kMiB, 192 * kKiB, 2201},
    {"Ascend910B3", 20, 40, 6, 192 * kMiB, 192 * kKiB, 2201},
    {"Ascend910B4", 20, 40, 6, 96 * kMiB, 192 * kKiB, 2201},
    {"Ascend910B4-1", 20, 40, 6, 96 * kMiB, 192 * kKiB, 2201},
};

[[noreturn]] void reject(const char* variable, std::string_view value,
                         const std::string& expected) {
  throw std::invalid_argument(std::string(variable) + "=\"" + std::string(value) +
                              "\" is not valid: expected " + expected);
}

template <class Integer>
bool parseWhole(std::string_view text, Integer& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

size_t readBytes(const char* variable, size_t fallback, size_t least) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return fallback;
  const char* const expected = "bytes with an optional suffix K, M, G or T, such as 64G";
  std::string_view text = trimmed(value);
  for (std::string_view unit : {"iB", "B", "b"}) {
    if (text.ends_with(unit)) {
      text.remove_suffix(unit.size());
      break;
    }
  }
  int shift = 0;
  if (!text.empty()) {
    const char suffix = static_cast<char>(text.back() & ~0x20);
    shift = suffix == 'K' ? 10 : suffix == 'M' ? 20 : suffix == 'G' ? 30 : suffix == 'T' ? 40 : 0;
    if (shift != 0) text.remove_suffix(1);
  }
  uint64_t count = 0;
  if (!parseWhole(trimmed(text), count)) reject(variable, value, expected);
  if (count > (uint64_t{1} << 46 >> shift)) reject(variable, value, "at most 64T");
  const size_t bytes = count << shift;
  if (bytes < least) reject(variable, value, "at least " + std::to_string(least) + " bytes");
  return bytes;
}

int readInteger(const char* variable, int fallback, int least, int most) {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return fallback;
  int number = 0;
  if (!parseWhole(trimmed(value), number) || number < least || number > most) {
    reject(variable, value,
           "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

// ASCEND_RT_VISIBLE_DEVICES, such as "0,2". CANN reads up to the first character that is neither a
// digit nor a comma, or the first device that is not there, and refuses what does not ascend. An
// empty list hides every device.
VisibleDevices readAscendingList(const char* variable, std::string_view value, int device_count) {
  VisibleDevices list;
  std::string_view rest = value;
  while (!rest.empty()) {
    list.unread = rest;
    const size_t length = std::min(rest.find_first_not_of("0123456789"), rest.size());
    int id = -1;
    if (!parseWhole(rest.substr(0, length), id) || id >= device_count) return list;
    if (!list.physical_ids.empty() && id <= list.physical_ids.back()) {
      reject(variable, value, "different devices in ascending order");
    }
    list.physical_ids.push_back(id);
    rest.remove_prefix(length);
    list.unread = rest;
    if (!rest.starts_with(',')) return list;
    rest.remove_prefix(1);
  }
  return list;
}

// ASCEND_VISIBLE_DEVICES, which the container runtime reads on a card: "0,2" or "0-3" or "5,1-2".
// An empty list hides every device.
std::vector<int> readRanges(const char* variable, const char* value, int device_count) {
  std::vector<int> devices;
  std::string_view rest = trimmed(value);
  const std::string expected = "a list of different devices from 0 to " +
                               std::to_string(device_count - 1) + " such as \"0,2\" or \"0-3\"";
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    const size_t dash = item.find('-', 1);
    int first = -1;
    int last = -1;
    if (!parseWhole(trimmed(item.substr(0, dash)), first)) reject(variable, value, expected);
    last = first;
    if (dash != std::string_view::npos && !parseWhole(trimmed(item.substr(dash + 1)), last)) {
      reject(variable, value, expected);
    }
    if (first < 0 || last < first || last >= device_count) reject(variable, value, expected);
    for (int id = first; id <= last; ++id) {
      if (std::find(devices.begin(), devices.end(), id) != devices.end()) {
        reject(variable, value, expected);
      }
      devices.push_back(id);
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
    if (trimmed(rest).empty()) reject(variable, value, expected);
  }
  return devices;
}

VisibleDevices readDeviceLists(int device_count) {
  if (const char* value = std::getenv("ASCEND_RT_VISIBLE_DEVICES")) {
    return readAscendingList("ASCEND_RT_VISIBLE_DEVICES", value, device_count);
  }
  VisibleDevices list;
  if (const char* value = std::getenv("ASCEND_VISIBLE_DEVICES")) {
    list.physical_ids = readRanges("ASCEND_VISIBLE_DEVICES", value, device_count);
  } else {
    for (int id = 0; id < device_count; ++id) list.physical_ids.push_back(id);
  }
  return list;
}

// Leaked, as the other settings are.
std::atomic<const VisibleDevices*> fixed_devices{nullptr};

const SocSpec* readSoc() {
  const char* value = std::getenv("SOFTCANN_SOC_NAME");
  const std::string_view name = value == nullptr || *value == '\0' ? "Ascend910B2" : value;
  std::string known;
  for (const SocSpec& soc : kSocs) {
    if (name == soc.name) return &soc;
    known += known.empty() ? soc.name : std::string(", ") + soc.name;
  }
  reject("SOFTCANN_SOC_NAME", name, "one of " + known);
}

HalfPrecision readHalfPrecision(const char* variable) {
  const char* text = std::getenv(variable);
  const std::string_view value = text == nullptr || *text == '\0' ? "auto" : text;
  if (value == "auto") return HalfPrecision::kAuto;
  if (value == "native") return HalfPrecision::kNative;
  if (value == "float32") return HalfPrecision::kFloat32;
  reject(variable, value, "auto, native or float32");
}

// Appended to, so that the processes of one program may share the file.
int openForAppending(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr || *path == '\0') return -1;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    reject(variable, path, std::string("a file that can be written: ") + std::strerror(errno));
  }
  return file;
}

}  // namespace

void readPlatform(Platform& platform) {
  platform.soc = readSoc();
  platform.device_count = readInteger("SOFTCANN_DEVICE_COUNT", 8, 0, kMaxDevices);
  platform.device_memory = readBytes("SOFTCANN_DEVICE_MEMORY", 64 * kGiB, size_t{1} << 20);
  platform.address_space_is_default = std::getenv("SOFTCANN_ADDRESS_SPACE") == nullptr;
  platform.address_space = readBytes("SOFTCANN_ADDRESS_SPACE", kDefaultAddressSpace, kGiB);
  platform.overcommit = readInteger("SOFTCANN_OVERCOMMIT", 0, 0, 1) != 0;
  platform.launch_blocking = readInteger("ASCEND_LAUNCH_BLOCKING", 0, 0, 1) != 0;
  platform.strict = readInteger("SOFTCANN_STRICT", 0, 0, 1) != 0;
  platform.half_precision = readHalfPrecision("SOFTCANN_HALF_PRECISION");
  platform.trace_file = openForAppending("SOFTCANN_TRACE");
}

const Platform* platform() noexcept {
  // Leaked: threads may ask until the very end of the process.
  static std::once_flag once;
  static Platform* settings = nullptr;
  static std::string* problem = nullptr;
  std::call_once(once, [] {
    auto* read = new Platform;
    try {
      readPlatform(*read);
      settings = read;
    } catch (const std::exception& error) {
      problem = new std::string(error.what());
      delete read;
    }
  });
  if (settings == nullptr) fail(ACL_ERROR_INVALID_PARAM, *problem);
  return settings;
}

aclError readVisibleDevices(VisibleDevices& devices) noexcept {
  try {
    if (const VisibleDevices* fixed = fixed_devices.load()) {
      devices = *fixed;
      return ACL_SUCCESS;
    }
    const Platform* settings = platform();
    if (settings == nullptr) return ACL_ERROR_INVALID_PARAM;
    devices = readDeviceLists(settings->device_count);
    return ACL_SUCCESS;
  } catch (const std::invalid_argument& error) {
    return fail(ACL_ERROR_INVALID_PARAM, error.what());
  } catch (const std::bad_alloc&) {
    return fail(ACL_ERROR_BAD_ALLOC, "the host is out of memory");
  }
}

void fixVisibleDevices(const VisibleDevices& devices) {
  if (fixed_devices.load() == nullptr) fixed_devices.store(new VisibleDevices(devices));
}

}  // namespace softcann
