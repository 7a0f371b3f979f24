#include "torch_npu/csrc/core/npu_stream.h"
#include "torch_npu/csrc/core/sync_debug.h"

#include <torch/csrc/Stream.h>

#include <array>

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {

py::tuple packStream(const c10::Stream& stream) {
  const auto packed = stream.pack3();
  return py::make_tuple(packed.stream_id, static_cast<int64_t>(packed.device_index),
                        static_cast<int64_t>(packed.device_type));
}

namespace {

// A _NPUStreamBase is a torch.Stream without fields of its own: the three numbers of the base say
// it all, so everything that takes a torch.Stream takes it too.
NPUStream streamOf(PyObject* self) {
  const auto* stream = reinterpret_cast<THPStream*>(self);
  return NPUStream::unpack3(stream->stream_id, static_cast<DeviceIndex>(stream->device_index),
                            static_cast<c10::DeviceType>(stream->device_type));
}

NPUStream selectStream(long priority, long long stream_id, long long device_index,
                       long long device_type, unsigned long long stream_ptr) {
  if (stream_id != 0 || device_index != 0 || device_type != 0) {
    return NPUStream::unpack3(stream_id, toDeviceIndex(device_index),
                              static_cast<c10::DeviceType>(device_type));
  }
  if (stream_ptr != 0) {
    TORCH_CHECK(priority == 0, "Priority was explicitly set for an external stream");
    return getNPUStreamFromExternal(reinterpret_cast<aclrtStream>(stream_ptr));
  }
  py::gil_scoped_release no_gil;
  return getNPUStreamFromPool(static_cast<int>(priority));
}

PyObject* newStream(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static constexpr std::array<const char*, 6> kNames = {"priority",    "stream_id",  "device_index",
                                                        "device_type", "stream_ptr", nullptr};
  long priority = 0;
  long long stream_id = 0;
  long long device_index = 0;
  long long device_type = 0;
  unsigned long long stream_ptr = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|lLLLK", const_cast<char**>(kNames.data()),
                                  &priority, &stream_id, &device_index, &device_type,
                                  &stream_ptr) == 0) {
    return nullptr;
  }
  const NPUStream stream = selectStream(priority, stream_id, device_index, device_type, stream_ptr);
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  auto* fields = reinterpret_cast<THPStream*>(self);
  fields->stream_id = stream.id();
  fields->device_index = stream.device_index();
  fields->device_type = static_cast<int64_t>(stream.device_type());
  return self;
  END_HANDLE_TH_ERRORS
}

PyObject* getHandle(PyObject* self, void* /*closure*/) {
  HANDLE_TH_ERRORS
  aclrtStream handle = nullptr;
  {
    py::gil_scoped_release no_gil;
    handle = streamOf(self).stream();
  }
  return PyLong_FromVoidPtr(handle);
  END_HANDLE_TH_ERRORS
}

PyObject* getPriority(PyObject* self, void* /*closure*/) {
  HANDLE_TH_ERRORS
  return PyLong_FromLong(streamOf(self).priority());
  END_HANDLE_TH_ERRORS
}

PyObject* query(PyObject* self, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS
  bool done = false;
  {
    py::gil_scoped_release no_gil;
    done = streamOf(self).query();
  }
  return PyBool_FromLong(done ? 1 : 0);
  END_HANDLE_TH_ERRORS
}

PyObject* synchronize(PyObject* self, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS {
    py::gil_scoped_release no_gil;
    streamOf(self).synchronize();
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* priorityRange(PyObject* /*unused*/, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS
  const auto [least, greatest] = NPUStream::priority_range();
  return Py_BuildValue("(ii)", least, greatest);
  END_HANDLE_TH_ERRORS
}

std::array<PyGetSetDef, 3> stream_properties = {{
    {"npu_stream", getHandle, nullptr, "The aclrtStream handle as an int.", nullptr},
    {"priority", getPriority, nullptr, "0, or negative for a higher priority.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
}};

std::array<PyMethodDef, 4> stream_methods = {{
    {"query", query, METH_NOARGS, "Whether all work enqueued so far has completed."},
    {"synchronize", synchronize, METH_NOARGS, "Waits until it has."},
    {"priority_range", priorityRange, METH_NOARGS | METH_STATIC, "(least, greatest) priority."},
    {nullptr, nullptr, 0, nullptr},
}};

std::array<PyType_Slot, 4> stream_slots = {{
    {Py_tp_new, reinterpret_cast<void*>(newStream)},
    {Py_tp_getset, stream_properties.data()},
    {Py_tp_methods, stream_methods.data()},
    {0, nullptr},
}};

PyType_Spec stream_spec = {"torch_npu._C._NPUStreamBase", 0, 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, stream_slots.data()};

}  // namespace

void addStreamBindings(py::module& module) {
  PyObject* type =
      PyType_FromSpecWithBases(&stream_spec, reinterpret_cast<PyObject*>(THPStreamClass));
  if (type == nullptr) throw py::error_already_set();
  module.attr("_NPUStreamBase") = py::reinterpret_steal<py::object>(type);

  module.def("_npu_getCurrentStream", torch::wrap_pybind_function([](int64_t device) -> py::tuple {
               return packStream(getCurrentNPUStream(toDeviceIndex(device)).unwrap());
             }),
             py::arg("device"));
  module.def("_npu_getDefaultStream", torch::wrap_pybind_function([](int64_t device) -> py::tuple {
               return packStream(getDefaultNPUStream(toDeviceIndex(device)).unwrap());
             }),
             py::arg("device"));
  module.def(
      "_npu_getCurrentRawStream",
      torch::wrap_pybind_function_no_gil([](int64_t device) -> uint64_t {
        return reinterpret_cast<uint64_t>(getCurrentNPUStream(toDeviceIndex(device)).stream());
      }),
      py::arg("device"));
  module.def("_npu_getStreamFromExternal",
             torch::wrap_pybind_function([](uint64_t data_ptr, int64_t device) -> py::tuple {
               return packStream(getNPUStreamFromExternal(reinterpret_cast<aclrtStream>(data_ptr),
                                                          toDeviceIndex(device))
                                     .unwrap());
             }),
             py::arg("data_ptr"), py::arg("device_index"));
  // As torch._C's: the stream's device becomes current too.
  module.def("_npu_setStream",
             torch::wrap_pybind_function_no_gil([](int64_t stream_id, int64_t device_index,
                                                   int64_t device_type) -> void {
               const auto stream = NPUStream::unpack3(stream_id, toDeviceIndex(device_index),
                                                      static_cast<c10::DeviceType>(device_type));
               setDevice(stream.device_index());
               setCurrentNPUStream(stream);
             }),
             py::arg("stream_id"), py::arg("device_index"), py::arg("device_type"));
  module.def("_npu_setSyncDebugMode", torch::wrap_pybind_function([](int64_t mode) -> void {
               setSyncDebugMode(static_cast<SyncDebugMode>(mode));
             }),
             py::arg("mode"));
  module.def("_npu_getSyncDebugMode", torch::wrap_pybind_function([]() -> int64_t {
               return static_cast<int64_t>(syncDebugMode());
             }));
  module.def("_npu_isCurrentStreamCapturing", torch::wrap_pybind_function_no_gil([]() -> bool {
               return getCurrentNPUStream().is_capturing();
             }));
}

}  // namespace torch_npu::python
