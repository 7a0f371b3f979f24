// Lets signals end the waits of Python's main thread, which runs their handlers.
#include <unistd.h>

#include <optional>
#include <utility>

#include "torch_npu/csrc/core/host_wait.h"
#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

thread_local std::optional<python_error> interruption;

bool isFinalizing() noexcept {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

// Whether a signal's handler has raised, as the one of Ctrl-C does. Other threads need not ask.
bool signalHasRaised() noexcept {
  if (gettid() != getpid() || Py_IsInitialized() == 0 || isFinalizing()) return false;
  const py::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() == 0) return false;
  interruption.emplace().persist();
  return true;
}

void raiseInterruption() {
  python_error error = std::move(*interruption);
  interruption.reset();
  throw error;
}

}  // namespace

void addWaitBindings(py::module& /*module*/) {
  setWaitEnding({&signalHasRaised, &raiseInterruption});
}

}  // namespace torch_npu::python
