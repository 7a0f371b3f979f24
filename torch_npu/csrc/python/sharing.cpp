// Storages whose memory several processes use. The tuple that describes one is that of PyTorch's
// CUDA storages: (device, key, bytes, offset in the allocation, owner, number, event, whether to
// wait for it); there is no event, because the sender has waited for its stream.
#include <torch/csrc/Storage.h>

#include <string>
#include <tuple>

#include "torch_npu/csrc/core/ipc/shared_storage.h"
#include "torch_npu/csrc/python/binding.h"

namespace torch_npu::python {
namespace {

const c10::Storage& toStorage(const py::object& storage) {
  TORCH_CHECK_TYPE(THPStorage_Check(storage.ptr()), "expected a torch.UntypedStorage, but got ",
                   Py_TYPE(storage.ptr())->tp_name);
  THPStorage_assertNotNull(storage.ptr());
  return THPStorage_Unpack(storage.ptr());
}

py::tuple shareStorage(const py::object& object) {
  const c10::Storage storage = toStorage(object);
  TORCH_CHECK(storage.device_type() == c10::DeviceType::PrivateUse1,
              "_share_npu_: only available on npu, and this storage is on ", storage.device());
  const py::bytes empty;
  if (storage.nbytes() == 0) {
    return py::make_tuple(storage.device().index(), py::none(), 0, 0, empty, 0, empty, false);
  }
  ipc::SharedStorage shared;
  {
    py::gil_scoped_release no_gil;
    shared = ipc::share(storage);
  }
  return py::make_tuple(shared.device, py::bytes(shared.key), shared.size, shared.offset,
                        py::bytes(shared.reference.owner), shared.reference.number, empty, false);
}

py::object newSharedStorage(int64_t device, const std::string& key, size_t size, size_t offset,
                            const std::string& owner, uint64_t number) {
  ipc::SharedStorage shared{toDeviceIndex(device), key, size, offset, {owner, number}};
  c10::Storage storage;
  {
    py::gil_scoped_release no_gil;
    storage = ipc::receive(shared);
  }
  return py::reinterpret_steal<py::object>(THPStorage_Wrap(std::move(storage)));
}

}  // namespace

void addSharingBindings(py::module& module) {
  module.def("_npu_shareStorage", torch::wrap_pybind_function(shareStorage), py::arg("storage"));
  module.def("_npu_newSharedStorage", torch::wrap_pybind_function(newSharedStorage),
             py::arg("device"), py::arg("key"), py::arg("size"), py::arg("offset"),
             py::arg("owner"), py::arg("number"));
  // For what has been received and is here already.
  module.def(
      "_npu_releaseReference",
      torch::wrap_pybind_function_no_gil([](const std::string& owner, uint64_t number) -> void {
        const ipc::Claim claim({owner, number});
      }),
      py::arg("owner"), py::arg("number"));
  module.def("_npu_unclaimedReferences", torch::wrap_pybind_function_no_gil([]() -> size_t {
               return ipc::unclaimedReferences();
             }));
  module.def("_npu_keptReferences",
             torch::wrap_pybind_function_no_gil([]() -> size_t { return ipc::keptReferences(); }));
}

}  // namespace torch_npu::python
