#include "torch_npu/csrc/core/npu_generator.h"

#include <torch/csrc/Generator.h>

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {

void addGeneratorBindings(py::module& module) {
  // The same Python object for as long as one is alive.
  module.def("_npu_getDefaultGenerator",
             torch::wrap_pybind_function([](int64_t device) -> py::object {
               PyObject* wrapped = THPGenerator_Wrap(getDefaultNPUGenerator(toDeviceIndex(device)));
               if (wrapped == nullptr) throw python_error();
               return py::reinterpret_steal<py::object>(wrapped);
             }),
             py::arg("device"));
}

}  // namespace torch_npu::python
