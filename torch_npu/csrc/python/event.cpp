#include "torch_npu/csrc/core/npu_event.h"

#include <torch/csrc/Event.h>
#include <torch/csrc/Stream.h>

#include <array>
#include <new>
#include <string>

#include "torch_npu/csrc/core/npu_guard.h"
#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

// A _NPUEventBase is a torch.Event whose device type is npu: it uses the base's c10::Event, which
// reaches AscendCL through the device guard. So torch.Stream.wait_event() and the like accept it.
c10::Event& eventOf(PyObject* self) { return reinterpret_cast<THPEvent*>(self)->event; }

// The stream argument of record() and wait(); the current stream where there is none.
bool parseStream(PyObject* args, PyObject* kwargs, c10::Stream& stream) {
  static constexpr std::array<const char*, 2> kNames = {"stream", nullptr};
  PyObject* given = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|O", const_cast<char**>(kNames.data()), &given) ==
      0) {
    return false;
  }
  if (given == Py_None) {
    stream = getCurrentNPUStream().unwrap();
    return true;
  }
  stream = toStream(given);
  return true;
}

PyObject* allocate(PyTypeObject* type, c10::EventFlag flag) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) throw python_error();
  new (&eventOf(self)) c10::Event(c10::DeviceType::PrivateUse1, flag);
  return self;
}

// A Python event around one of the current device that other processes use too.
PyObject* adopt(PyTypeObject* type, aclrtEvent shared) {
  const event::Adoption adoption(shared);
  PyObject* self = allocate(type, event::kShared);
  eventOf(self).record(getCurrentNPUStream().unwrap());
  return self;
}

PyObject* newEvent(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS
  static constexpr std::array<const char*, 5> kNames = {"enable_timing", "blocking", "interprocess",
                                                        "external", nullptr};
  int enable_timing = 0;
  int blocking = 0;  // AscendCL's host wait always blocks, so there is nothing to select
  int interprocess = 0;
  int external = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "|pppp", const_cast<char**>(kNames.data()),
                                  &enable_timing, &blocking, &interprocess, &external) == 0) {
    return nullptr;
  }
  TORCH_CHECK_VALUE(interprocess == 0 || enable_timing == 0,
                    "an event with interprocess=True keeps no time: leave enable_timing out, and "
                    "measure with an event of its own");
  TORCH_CHECK_NOT_IMPLEMENTED(
      external == 0,
      "torch.npu.Event(external=True) is not supported: record and wait for "
      "an event within the captured graph, or outside it");
  if (interprocess != 0) return adopt(type, event::createShared());
  return allocate(
      type, enable_timing != 0 ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT);
  END_HANDLE_TH_ERRORS
}

PyObject* record(PyObject* self, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS {
    c10::Stream stream = getDefaultNPUStream().unwrap();
    if (!parseStream(args, kwargs, stream)) return nullptr;
    py::gil_scoped_release no_gil;
    eventOf(self).record(stream);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* wait(PyObject* self, PyObject* args, PyObject* kwargs) {
  HANDLE_TH_ERRORS {
    c10::Stream stream = getDefaultNPUStream().unwrap();
    if (!parseStream(args, kwargs, stream)) return nullptr;
    py::gil_scoped_release no_gil;
    eventOf(self).block(stream);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* query(PyObject* self, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS
  bool done = false;
  {
    py::gil_scoped_release no_gil;
    done = eventOf(self).query();
  }
  return PyBool_FromLong(done ? 1 : 0);
  END_HANDLE_TH_ERRORS
}

PyObject* synchronize(PyObject* self, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS {
    py::gil_scoped_release no_gil;
    eventOf(self).synchronize();
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

bool keepsTime(const c10::Event& event) {
  return event.device_type() == c10::DeviceType::PrivateUse1 &&
         event.flag() == c10::EventFlag::BACKEND_DEFAULT;
}

PyObject* elapsedTime(PyObject* self, PyObject* end) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPEvent_Check(end), "expected a torch.npu.Event or torch.Event, but got ",
                   Py_TYPE(end)->tp_name);
  const c10::Event& first = eventOf(self);
  const c10::Event& last = eventOf(end);
  // c10::Event refuses events that have not completed; here they are waited for, as on Ascend.
  if (keepsTime(first) && keepsTime(last)) {
    py::gil_scoped_release no_gil;
    first.synchronize();
    last.synchronize();
  }
  return PyFloat_FromDouble(first.elapsedTime(last));
  END_HANDLE_TH_ERRORS
}

PyObject* recordedTime(PyObject* self, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS
  const c10::Event& event = eventOf(self);
  TORCH_CHECK_VALUE(keepsTime(event) && event.eventId() != nullptr,
                    "only an event that was made with enable_timing=True and recorded has a time");
  uint64_t microseconds = 0;
  {
    py::gil_scoped_release no_gil;
    microseconds = event::completionTime(event.eventId());
  }
  return PyLong_FromUnsignedLongLong(microseconds);
  END_HANDLE_TH_ERRORS
}

PyObject* ipcHandle(PyObject* self, PyObject* /*unused*/) {
  HANDLE_TH_ERRORS
  TORCH_CHECK(eventOf(self).flag() == event::kShared,
              "the event is for this process alone: make it with "
              "torch.npu.Event(interprocess=True) to share it");
  const std::string handle = event::sharedHandle(eventOf(self).eventId());
  return PyBytes_FromStringAndSize(handle.data(), static_cast<Py_ssize_t>(handle.size()));
  END_HANDLE_TH_ERRORS
}

PyObject* fromIpcHandle(PyObject* type, PyObject* args) {
  HANDLE_TH_ERRORS
  int device = 0;
  PyObject* handle = nullptr;  // borrowed
  if (PyArg_ParseTuple(args, "iS", &device, &handle) == 0) return nullptr;
  const std::string text(PyBytes_AS_STRING(handle), static_cast<size_t>(PyBytes_GET_SIZE(handle)));
  lazyInit();
  checkDeviceIndex(toDeviceIndex(device));
  const NPUGuard guard(toDeviceIndex(device));
  aclrtEvent opened = nullptr;
  {
    py::gil_scoped_release no_gil;
    opened = event::openShared(text);
  }
  return adopt(reinterpret_cast<PyTypeObject*>(type), opened);
  END_HANDLE_TH_ERRORS
}

PyObject* getHandle(PyObject* self, void* /*closure*/) {
  return PyLong_FromVoidPtr(eventOf(self).eventId());
}

std::array<PyGetSetDef, 2> event_properties = {{
    {"npu_event", getHandle, nullptr, "The aclrtEvent handle as an int; 0 before the first record.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
}};

PyCFunction withKeywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

std::array<PyMethodDef, 9> event_methods = {{
    {"record", withKeywords(record), METH_VARARGS | METH_KEYWORDS,
     "Marks the end of what the stream holds now."},
    {"wait", withKeywords(wait), METH_VARARGS | METH_KEYWORDS,
     "Makes later work of the stream wait for this event."},
    {"query", query, METH_NOARGS, "Whether all work before the last record has completed."},
    {"elapsed_time", elapsedTime, METH_O,
     "Milliseconds from this event to the given one; waits for both."},
    {"recorded_time", recordedTime, METH_NOARGS,
     "When the event completed, in microseconds of the device's clock."},
    {"synchronize", synchronize, METH_NOARGS, "Waits until the event has completed."},
    {"ipc_handle", ipcHandle, METH_NOARGS, "A handle by which another process can open the event."},
    {"from_ipc_handle", fromIpcHandle, METH_VARARGS | METH_CLASS,
     "The event that has this handle, for work of the device with this index."},
    {nullptr, nullptr, 0, nullptr},
}};

std::array<PyType_Slot, 4> event_slots = {{
    {Py_tp_new, reinterpret_cast<void*>(newEvent)},
    {Py_tp_getset, event_properties.data()},
    {Py_tp_methods, event_methods.data()},
    {0, nullptr},
}};

PyType_Spec event_spec = {"torch_npu._C._NPUEventBase", 0, 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, event_slots.data()};

}  // namespace

c10::Stream toStream(PyObject* object) {
  TORCH_CHECK_TYPE(THPStream_Check(object), "expected a torch.npu.Stream or torch.Stream, but got ",
                   Py_TYPE(object)->tp_name);
  const auto* fields = reinterpret_cast<THPStream*>(object);
  return c10::Stream::unpack3(fields->stream_id, static_cast<DeviceIndex>(fields->device_index),
                              static_cast<c10::DeviceType>(fields->device_type));
}

void addEventBindings(py::module& module) {
  PyObject* type =
      PyType_FromSpecWithBases(&event_spec, reinterpret_cast<PyObject*>(THPEventClass));
  if (type == nullptr) throw py::error_already_set();
  module.attr("_NPUEventBase") = py::reinterpret_steal<py::object>(type);
}

}  // namespace torch_npu::python
