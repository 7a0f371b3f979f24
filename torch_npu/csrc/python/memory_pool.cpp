#include "torch_npu/csrc/core/memory_pool.h"

#include <memory>

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

}  // namespace

void addMemoryPoolBindings(py::module& module) {
  py::class_<MemoryPool, Holder>(module, "_MemPool")
      .def(py::init(torch::wrap_pybind_function_no_gil([]() -> Holder {
        lazyInit();
        return Holder(new MemoryPool);
      })))
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
