// PyTorch's profiler in threads that Python did not start it in: PyTorch has it in C++ only.
#pragma once

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {

void addProfilerBindings(py::module& module);

}  // namespace torch_npu::python
