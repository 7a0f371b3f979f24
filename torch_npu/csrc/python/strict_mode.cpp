// Strict mode of softcann's operators: whether they refuse what the imitated card refuses.
#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

// A function of softcann's operator library; a real CANN refuses what it refuses and has no switch.
template <class Function>
Function find(const char* name) {
  void* symbol = acl::opApiSymbol(name);
  TORCH_CHECK_NOT_IMPLEMENTED(
      symbol != nullptr,
      "strict mode is a setting of softcann, and this CANN is not softcann: "
      "its operators are strict always");
  return reinterpret_cast<Function>(symbol);
}

}  // namespace

void addStrictModeBindings(py::module& module) {
  module.def("_npu_getStrictMode", torch::wrap_pybind_function_no_gil([]() -> bool {
               return find<bool (*)()>("softcannStrictMode")();
             }));
  module.def("_npu_setStrictMode", torch::wrap_pybind_function_no_gil([](bool strict) -> void {
               find<void (*)(bool)>("softcannSetStrictMode")(strict);
             }),
             py::arg("strict"));
}

}  // namespace torch_npu::python
