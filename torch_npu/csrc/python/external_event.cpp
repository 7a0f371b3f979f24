#include "torch_npu/csrc/core/npu_external_event.h"

#include <memory>

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

// A bound method of an external event with a torch.npu.Stream or torch.Stream.
template <void (NPUExternalEvent::*method)(const NPUStream&)>
auto onStream() {
  return torch::wrap_pybind_function([](NPUExternalEvent& event, const py::object& object) -> void {
    const NPUStream stream(toStream(object.ptr()));
    const py::gil_scoped_release no_gil;
    (event.*method)(stream);
  });
}

}  // namespace

void addExternalEventBindings(py::module& module) {
  py::class_<NPUExternalEvent>(module, "_NPUExternalEventBase")
      .def(py::init<>())
      .def_property_readonly("npu_event",
                             [](const NPUExternalEvent& event) -> uintptr_t {
                               return reinterpret_cast<uintptr_t>(event.flag());
                             })
      .def("record", onStream<&NPUExternalEvent::record>(), py::arg("stream"))
      .def("wait", onStream<&NPUExternalEvent::wait>(), py::arg("stream"))
      .def("reset", onStream<&NPUExternalEvent::reset>(), py::arg("stream"));
}

}  // namespace torch_npu::python
