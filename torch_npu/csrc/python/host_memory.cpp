#include <ATen/core/CachingHostAllocator.h>

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

at::HostAllocator& hostAllocator() {
  auto* allocator = at::getHostAllocator(c10::DeviceType::PrivateUse1);
  TORCH_INTERNAL_ASSERT(allocator != nullptr, "no allocator of pinned memory is registered");
  return *allocator;
}

py::dict toDict(const c10::CachingAllocator::Stat& stat) {
  py::dict result;
  result["current"] = stat.current;
  result["peak"] = stat.peak;
  result["allocated"] = stat.allocated;
  result["freed"] = stat.freed;
  return result;
}

// Microseconds.
py::dict toDict(const c10::CachingAllocator::DurationStat& stat) {
  py::dict result;
  result["total"] = stat.total;
  result["max"] = stat.max;
  result["min"] = stat.min;
  result["count"] = stat.count;
  result["avg"] = stat.count == 0 ? 0 : stat.total / stat.count;
  return result;
}

py::dict hostMemoryStats() {
  at::HostStats stats;
  {
    py::gil_scoped_release no_gil;
    stats = hostAllocator().get_stats();
  }
  py::dict result;
  result["num_host_alloc"] = stats.num_host_alloc;
  result["num_host_free"] = stats.num_host_free;
  result["allocations"] = toDict(stats.allocations);
  result["allocated_bytes"] = toDict(stats.allocated_bytes);
  result["active_requests"] = toDict(stats.active_requests);
  result["active_bytes"] = toDict(stats.active_bytes);
  result["host_alloc_time"] = toDict(stats.host_alloc_time);
  result["host_free_time"] = toDict(stats.host_free_time);
  return result;
}

}  // namespace

void addHostMemoryBindings(py::module& module) {
  module.def("_npu_hostMemoryStats", torch::wrap_pybind_function(hostMemoryStats));
  module.def("_npu_hostEmptyCache",
             torch::wrap_pybind_function_no_gil([]() -> void { hostAllocator().empty_cache(); }));
  module.def("_npu_resetPeakHostMemoryStats", torch::wrap_pybind_function_no_gil([]() -> void {
               hostAllocator().reset_peak_stats();
             }));
  module.def("_npu_resetAccumulatedHostMemoryStats",
             torch::wrap_pybind_function_no_gil(
                 []() -> void { hostAllocator().reset_accumulated_stats(); }));
}

}  // namespace torch_npu::python
