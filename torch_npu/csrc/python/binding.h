// Shared by the files of the extension module torch_npu._C: one function per object, which adds
// that object's bindings.
//
// Every bound function goes through torch::wrap_pybind_function, which turns errors into PyTorch's
// own Python types and warnings into Python's; through its no_gil form if it may block or start a
// device.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

namespace torch_npu::python {

void addDeviceBindings(py::module& module);
void addStreamBindings(py::module& module);
void addEventBindings(py::module& module);
void addExternalEventBindings(py::module& module);
void addMemoryBindings(py::module& module);
void addMemoryPoolBindings(py::module& module);
void addSharingBindings(py::module& module);
void addMemorySnapshotBindings(py::module& module);
void addHostMemoryBindings(py::module& module);
void addFallbackBindings(py::module& module);
void addGeneratorBindings(py::module& module);
void addStrictModeBindings(py::module& module);
void addWaitBindings(py::module& module);

// A Python int as a device index; throws for one that no device can have.
c10::DeviceIndex toDeviceIndex(int64_t device);

// The stream that a torch.npu.Stream or torch.Stream stands for; throws for any other object.
c10::Stream toStream(PyObject* object);

// {stream_id, device_index, device_type}, as torch._C's stream functions return them.
py::tuple packStream(const c10::Stream& stream);

}  // namespace torch_npu::python
