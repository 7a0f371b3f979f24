#include "torch_npu/csrc/core/memory_pool.h"
#include "torch_npu/csrc/core/memory/pluggable_allocator.h"

#include <memory>
#include <string>
#include <utility>

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

// Giving memory back waits for the device, where a task may call Python.
struct EndWithoutGil {
  void operator()(MemoryPool* pool) const {
    const py::gil_scoped_release no_gil;
    delete pool;
  }
};
using Holder = std::unique_ptr<MemoryPool, EndWithoutGil>;

// Once memory was allocated, its owner cannot be exchanged any more.
void changeAllocator(std::shared_ptr<PluggableAllocator> allocator) {
  TORCH_CHECK(allocator != nullptr, "change_current_allocator: expected an allocator, got None");
  TORCH_CHECK(!isInitialized() && replacementAllocator() == nullptr,
              "Can't swap an already initialized allocator: call "
              "torch.npu.memory.change_current_allocator() once, before anything uses the device");
  setReplacementAllocator(std::move(allocator));
}

}  // namespace

void addMemoryPoolBindings(py::module& module) {
  py::class_<PluggableAllocator, std::shared_ptr<PluggableAllocator>>(module, "_npu_NPUAllocator");
  module.def("_npu_loadPluggableAllocator",
             torch::wrap_pybind_function_no_gil(&PluggableAllocator::load), py::arg("library"),
             py::arg("alloc_fn_name"), py::arg("free_fn_name"));
  module.def("_npu_changeCurrentAllocator", torch::wrap_pybind_function_no_gil(changeAllocator),
             py::arg("allocator"));
  module.def("_npu_getAllocatorBackend", torch::wrap_pybind_function([]() -> std::string {
               return replacementAllocator() != nullptr ? "pluggable" : "native";
             }));
  py::class_<MemoryPool, Holder>(module, "_MemPool")
      .def(py::init(torch::wrap_pybind_function_no_gil(
               [](std::shared_ptr<PluggableAllocator> allocator) -> Holder {
                 lazyInit();
                 return Holder(new MemoryPool(std::move(allocator)));
               })),
           py::arg("allocator") = nullptr)
      .def_property_readonly("id", &MemoryPool::id)
      .def("use_count", torch::wrap_pybind_function_no_gil(&MemoryPool::useCount))
      .def("_begin", torch::wrap_pybind_function_no_gil([](MemoryPool& pool, int64_t device) {
             pool.begin(toDeviceIndex(device));
           }),
           py::arg("device"))
      .def("_end", torch::wrap_pybind_function_no_gil([](MemoryPool& pool, int64_t device) {
             pool.end(toDeviceIndex(device));
           }),
           py::arg("device"));
}

}  // namespace torch_npu::python
