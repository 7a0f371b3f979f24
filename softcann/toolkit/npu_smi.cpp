// npu-smi: shows the imitated devices and which processes use them, right across processes.
#include <cstdio>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "runtime/core/platform.h"
#include "runtime/core/process_registry.h"

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

void printUsage() {
  std::puts(
      "usage: npu-smi info [-l]\n"
      "  info      a table of the devices, their memory and the processes that use them\n"
      "  info -l   the devices' numbers");
}

size_t usedBytes(const std::vector<softcann::DeviceUse>& uses, int device) {
  size_t bytes = 0;
  for (const softcann::DeviceUse& use : uses) {
    if (use.physical_device == device) bytes += use.bytes;
  }
  return bytes;
}

void printDevices(const std::vector<softcann::DeviceUse>& uses, int count, double total_mib,
                  const char* soc) {
  const char* const rule = "+--------+----------------+----------+-----------------------------+";
  std::printf("%s\n| %-6s | %-14s | %-8s | %-27s |\n%s\n", rule, "NPU", "Name", "Health",
              "Memory used / total (MB)", rule);
  for (int device = 0; device < count; ++device) {
    std::printf("| %-6d | %-14s | %-8s | %12.0f / %-12.0f |\n", device, soc, "OK",
                static_cast<double>(usedBytes(uses, device)) / kMiB, total_mib);
  }
  std::printf("%s\n", rule);
}

void printProcesses(const std::vector<softcann::DeviceUse>& uses) {
  const char* const rule = "+--------+----------------+----------------------+-----------------+";
  std::printf("%s\n| %-6s | %-14s | %-20s | %-15s |\n%s\n", rule, "NPU", "Process id",
              "Process name", "Memory (MB)", rule);
  for (const softcann::DeviceUse& use : uses) {
    std::printf("| %-6d | %-14d | %-20.20s | %15.0f |\n", use.physical_device, use.pid,
                use.name.c_str(), static_cast<double>(use.bytes) / kMiB);
  }
  if (uses.empty()) std::printf("| %-64s |\n", "no running processes");
  std::printf("%s\n", rule);
}

}  // namespace

int main(int argc, char** argv) {
  const bool info = argc >= 2 && std::strcmp(argv[1], "info") == 0;
  const bool list = argc == 3 && std::strcmp(argv[2], "-l") == 0;
  if (!info || (argc > 2 && !list)) {
    printUsage();
    return argc == 2 && std::strcmp(argv[1], "-h") == 0 ? 0 : 2;
  }
  const softcann::Platform* settings = softcann::platform();
  if (settings == nullptr) {
    std::fprintf(stderr, "npu-smi: %s\n", aclGetRecentErrMsg());
    return 1;
  }
  if (list) {
    std::printf("Total Count : %d\n", settings->device_count);
    for (int device = 0; device < settings->device_count; ++device) {
      std::printf("NPU ID      : %d\n", device);
    }
    return 0;
  }
  const std::vector<softcann::DeviceUse> uses = softcann::listDeviceUse();
  printDevices(uses, settings->device_count, static_cast<double>(settings->device_memory) / kMiB,
               settings->soc->name);
  printProcesses(uses);
  return 0;
}
