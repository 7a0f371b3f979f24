#include <string>
#include <utility>

#include "torch_npu/csrc/core/allocator_config.h"
#include "torch_npu/csrc/core/caching_allocator.h"
#include "torch_npu/csrc/core/npu_stream.h"
#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

// What torch.accelerator offers for every allocator is not bound a second time.
void addAcceleratorFunctions(py::module& module) {
  const auto torch_module = py::module::import("torch._C");
  const std::pair<const char*, const char*> kNames[] = {
      {"_npu_memoryStats", "_accelerator_getDeviceStats"},
      {"_npu_resetAccumulatedMemoryStats", "_accelerator_resetAccumulatedStats"},
      {"_npu_resetPeakMemoryStats", "_accelerator_resetPeakStats"},
      {"_npu_getMemInfo", "_accelerator_getMemoryInfo"},
      {"_npu_emptyCache", "_accelerator_emptyCache"},
  };
  for (const auto& [name, torch_name] : kNames) {
    module.attr(name) = torch_module.attr(torch_name);
  }
}

uintptr_t allocateRaw(size_t size, uintptr_t stream) {
  const auto npu_stream = getNPUStreamFromExternal(reinterpret_cast<aclrtStream>(stream));
  return reinterpret_cast<uintptr_t>(
      cachingAllocator()->allocateRaw(size, npu_stream.device_index(), npu_stream.id()));
}

// The observer is called with (device, requested, total, free), the last three in bytes, before
// the error is raised. It is never destroyed; what it raises is printed, not lost in the error.
void attachOutOfMemoryObserver(const py::object& observer) {
  TORCH_CHECK_TYPE(PyCallable_Check(observer.ptr()) != 0,
                   "_npu_attach_out_of_memory_observer: expected a callable, got ",
                   Py_TYPE(observer.ptr())->tp_name);
  PyObject* callable = py::object(observer).release().ptr();
  cachingAllocator()->attachOutOfMemoryObserver(
      [callable](DeviceIndex device, size_t requested, size_t total, size_t free) {
        const py::gil_scoped_acquire gil;
        PyObject* result = PyObject_CallFunction(
            callable, "iKKK", static_cast<int>(device), static_cast<unsigned long long>(requested),
            static_cast<unsigned long long>(total), static_cast<unsigned long long>(free));
        if (result == nullptr) {
          PyErr_WriteUnraisable(callable);
        }
        Py_XDECREF(result);
      });
}

}  // namespace

void addMemoryBindings(py::module& module) {
  addAcceleratorFunctions(module);
  module.def("_npu_setMemoryFraction",
             torch::wrap_pybind_function_no_gil([](double fraction, int64_t device) -> void {
               cachingAllocator()->setMemoryFraction(fraction, toDeviceIndex(device));
             }),
             py::arg("fraction"), py::arg("device"));
  module.def("_npu_getMemoryFraction",
             torch::wrap_pybind_function_no_gil([](int64_t device) -> double {
               return cachingAllocator()->getMemoryFraction(toDeviceIndex(device));
             }),
             py::arg("device"));
  // For the current device; `stream` is an aclrtStream as an int.
  module.def("_npu_npuCachingAllocator_raw_alloc", torch::wrap_pybind_function_no_gil(allocateRaw),
             py::arg("size"), py::arg("stream"));
  module.def("_npu_npuCachingAllocator_raw_delete",
             torch::wrap_pybind_function_no_gil([](uintptr_t pointer) -> void {
               cachingAllocator()->freeRaw(reinterpret_cast<void*>(pointer));
             }),
             py::arg("pointer"));
  module.def("_npu_attach_out_of_memory_observer",
             torch::wrap_pybind_function(attachOutOfMemoryObserver), py::arg("observer"));
  module.def("_npu_setAllocatorSettings",
             torch::wrap_pybind_function_no_gil(
                 [](const std::string& settings) -> void { setAllocatorSettings(settings); }),
             py::arg("settings"));
}

}  // namespace torch_npu::python
