#include "torch_npu/csrc/core/npu_device_properties.h"
#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/python/binding.h"

#include <torch/csrc/utils/python_numbers.h>

#include <limits>
#include <sstream>

namespace torch_npu::python {

c10::DeviceIndex toDeviceIndex(int64_t device) {
  TORCH_CHECK(device >= std::numeric_limits<DeviceIndex>::min() &&
                  device <= std::numeric_limits<DeviceIndex>::max(),
              "invalid device ordinal: npu:", device, " does not exist, ",
              static_cast<int>(deviceCount()), " NPU device(s) are available");
  return static_cast<DeviceIndex>(device);
}

namespace {

constexpr size_t kMebibyte = size_t{1} << 20;

std::string describe(const NPUDeviceProperties& properties) {
  std::ostringstream out;
  out << "_NPUDeviceProperties(name='" << properties.name
      << "', total_memory=" << properties.total_memory / kMebibyte
      << "MB, cube_core_num=" << properties.cube_core_num
      << ", vector_core_num=" << properties.vector_core_num
      << ", L2_cache_size=" << static_cast<size_t>(properties.L2_cache_size) / kMebibyte
      << "MB, uuid=" << properties.uuid << ")";
  return out.str();
}

void addProperties(py::module& module) {
  py::class_<NPUDeviceProperties>(module, "_NPUDeviceProperties")
      .def_readonly("name", &NPUDeviceProperties::name)
      .def_readonly("total_memory", &NPUDeviceProperties::total_memory)
      .def_readonly("cube_core_num", &NPUDeviceProperties::cube_core_num)
      .def_readonly("vector_core_num", &NPUDeviceProperties::vector_core_num)
      .def_readonly("ai_cpu_core_num", &NPUDeviceProperties::ai_cpu_core_num)
      // PyTorch's generic code asks for CUDA's name of a core count.
      .def_readonly("multi_processor_count", &NPUDeviceProperties::cube_core_num)
      .def_readonly("L2_cache_size", &NPUDeviceProperties::L2_cache_size)
      .def_readonly("uuid", &NPUDeviceProperties::uuid)
      .def("__repr__", &describe);

  // Copied: the object may outlive nothing in C++ this way.
  module.def("_npu_getDeviceProperties",
             torch::wrap_pybind_function_no_gil([](int64_t device) -> NPUDeviceProperties {
               return deviceProperties(toDeviceIndex(device));
             }),
             py::arg("device"));
  module.def("_npu_getSocName",
             torch::wrap_pybind_function_no_gil([]() -> std::string { return socName(); }));
  module.def("_npu_getCannVersion",
             torch::wrap_pybind_function_no_gil([]() -> std::string { return cannVersion(); }));
}

}  // namespace

void addDeviceBindings(py::module& module) {
  module.def("_npu_init", torch::wrap_pybind_function_no_gil([]() -> void { lazyInit(); }));
  module.def("_npu_isInitialized",
             torch::wrap_pybind_function([]() -> bool { return isInitialized(); }));
  module.def("_npu_isInBadFork",
             torch::wrap_pybind_function([]() -> bool { return isInBadFork(); }));
  module.def("_npu_shutdown", torch::wrap_pybind_function_no_gil([]() -> void { shutdown(); }));

  module.def("_npu_getDeviceCount", torch::wrap_pybind_function_no_gil(
                                        []() -> int64_t { return torch_npu::deviceCount(); }));
  module.def("_npu_setDevice", torch::wrap_pybind_function_no_gil([](int64_t device) -> void {
               setDevice(toDeviceIndex(device));
             }),
             py::arg("device"));
  module.def("_npu_getDevice",
             torch::wrap_pybind_function([]() -> int64_t { return currentDevice(); }));
  // A negative index changes nothing and returns -1, as in torch._C.
  module.def("_npu_exchangeDevice",
             torch::wrap_pybind_function_no_gil([](int64_t device) -> int64_t {
               return device < 0 ? -1 : exchangeDevice(toDeviceIndex(device));
             }),
             py::arg("device"));
  module.def("_npu_maybeExchangeDevice",
             torch::wrap_pybind_function_no_gil([](int64_t device) -> int64_t {
               return device < 0 ? -1 : maybeExchangeDevice(toDeviceIndex(device));
             }),
             py::arg("device"));
  module.def("_npu_synchronize",
             torch::wrap_pybind_function_no_gil([]() -> void { synchronizeDevice(); }));
  module.def("_npu_setOpTimeoutMs", torch::wrap_pybind_function([](const py::object& timeout) {
               const uint32_t milliseconds = THPUtils_unpackUInt32(timeout.ptr());
               const py::gil_scoped_release no_gil;
               setOperatorTimeout(milliseconds);
             }),
             py::arg("timeout"));
  module.def("_npu_canDeviceAccessPeer",
             torch::wrap_pybind_function_no_gil([](int64_t device, int64_t peer) -> bool {
               return canAccessPeer(toDeviceIndex(device), toDeviceIndex(peer));
             }),
             py::arg("device"), py::arg("peer_device"));
  module.def("_npu_hasPrimaryContext", torch::wrap_pybind_function([](int64_t device) -> bool {
               return hasContext(toDeviceIndex(device));
             }),
             py::arg("device"));
  addProperties(module);
}

}  // namespace torch_npu::python
