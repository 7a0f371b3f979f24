#include "torch_npu/csrc/python/profiler.h"

#include <torch/csrc/autograd/profiler_kineto.h>

namespace torch_npu::python {

namespace {

void enableProfilerInChildThread() {
  TORCH_CHECK(torch::autograd::profiler::isProfilerEnabledInMainThread(),
              "no profiler is recording: start one in the main thread first");
  torch::autograd::profiler::enableProfilerInChildThread();
}

}  // namespace

void addProfilerBindings(py::module& module) {
  module.def("_npu_enableProfilerInChildThread",
             torch::wrap_pybind_function(enableProfilerInChildThread));
  module.def("_npu_disableProfilerInChildThread",
             torch::wrap_pybind_function(torch::autograd::profiler::disableProfilerInChildThread));
}

}  // namespace torch_npu::python
