#include "torch_npu/csrc/aten/fallback.h"

#include <cstdint>
#include <map>
#include <string>

#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {

void addFallbackBindings(py::module& module) {
  // A copy: what a caller does to it changes nothing, and there is no way to set the counts back.
  module.def("_npu_fallbackCounts",
             torch::wrap_pybind_function(
                 []() -> std::map<std::string, uint64_t> { return fallbackCounts(); }));
}

}  // namespace torch_npu::python
