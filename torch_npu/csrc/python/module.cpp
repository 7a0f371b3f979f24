// torch_npu._C: what the Python package needs of the backend. Functions and classes mirror those
// that torch._C has for CUDA, with npu for cuda. Importing it initialises no device.
#include "torch_npu/csrc/aten/checked_calls.h"
#include "torch_npu/csrc/python/binding.h"
#include "torch_npu/csrc/python/profiler.h"

PYBIND11_MODULE(_C, module) {
  using namespace torch_npu::python;
  torch_npu::registerCheckedCalls();
  addDeviceBindings(module);
  addStreamBindings(module);
  addEventBindings(module);
  addExternalEventBindings(module);
  addMemoryBindings(module);
  addMemoryPoolBindings(module);
  addSharingBindings(module);
  addMemorySnapshotBindings(module);
  addHostMemoryBindings(module);
  addFallbackBindings(module);
  addGeneratorBindings(module);
  addStrictModeBindings(module);
  addWaitBindings(module);
  addProfilerBindings(module);
}
