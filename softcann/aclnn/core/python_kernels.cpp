#include "aclnn/core/python_kernels.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/PyInterpreter.h>
#include <c10/util/Exception.h>

#include <memory>
#include <string>

namespace softcann::aclnn {

namespace {

[[noreturn]] void refuse(const std::string& what) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, what, " is Python code, which does not run here");
}

// An interpreter that runs nothing. It owns no object, so that there is nothing to count.
struct NoInterpreter final : c10::impl::PyInterpreterVTable {
  std::string name() const override { return "no interpreter"; }

  void incref(PyObject*) const override {}
  void decref(PyObject*) const override {}
  bool try_incref(const c10::impl::PyObjectSlot&) const override { return false; }
  size_t refcnt(PyObject*) const override { return 0; }

  void python_op_registration_trampoline(const c10::OperatorHandle& op, c10::DispatchKey,
                                         c10::DispatchKeySet, torch::jit::Stack*, bool,
                                         bool) const override {
    refuse("the kernel of " + c10::toString(op.operator_name()));
  }
  void dispatch(const c10::OperatorHandle& op, torch::jit::Stack*) const override {
    refuse("the dispatch of " + c10::toString(op.operator_name()));
  }
  void python_dispatcher(const c10::OperatorHandle& op, c10::DispatchKeySet,
                         torch::jit::Stack*) const override {
    refuse("the dispatch of " + c10::toString(op.operator_name()));
  }
  void throw_abstract_impl_not_imported_error(std::string opname, const char*,
                                              const char*) const override {
    refuse("the meta kernel of " + opname);
  }
  void reportErrorCallback(PyObject*, c10::DispatchKey) const override {}

  // Of tensors whose class is written in Python, none of which is an interpreter's that has none.
  using Impl = c10::TensorImpl;
  [[noreturn]] static void refuseTensor() { refuse("a tensor's class"); }
  c10::intrusive_ptr<Impl> detach(const Impl*) const override { refuseTensor(); }
  bool is_contiguous(const Impl*, at::MemoryFormat) const override { refuseTensor(); }
  c10::SymBool sym_is_contiguous(const Impl*, at::MemoryFormat) const override { refuseTensor(); }
  bool is_strides_like(const Impl*, at::MemoryFormat) const override { refuseTensor(); }
  bool is_non_overlapping_and_dense(const Impl*) const override { refuseTensor(); }
  c10::Device device(const Impl*) const override { refuseTensor(); }
  int64_t dim(const Impl*) const override { refuseTensor(); }
  c10::IntArrayRef strides(const Impl*) const override { refuseTensor(); }
  c10::IntArrayRef sizes(const Impl*) const override { refuseTensor(); }
  c10::SymIntArrayRef sym_sizes(const Impl*) const override { refuseTensor(); }
  c10::Layout layout(const Impl*) const override { refuseTensor(); }
  int64_t numel(const Impl*) const override { refuseTensor(); }
  c10::SymInt sym_numel(const Impl*) const override { refuseTensor(); }
  c10::SymIntArrayRef sym_strides(const Impl*) const override { refuseTensor(); }
  c10::SymInt sym_storage_offset(const Impl*) const override { refuseTensor(); }
  void reset_backward_hooks(const Impl*) const override { refuseTensor(); }

  // Observers of other devices.
  void trace_gpu_event_creation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_event_deletion(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_event_record(c10::DeviceType, uintptr_t, uintptr_t) const override {}
  void trace_gpu_event_wait(c10::DeviceType, uintptr_t, uintptr_t) const override {}
  void trace_gpu_memory_allocation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_memory_deallocation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_stream_creation(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_device_synchronization(c10::DeviceType) const override {}
  void trace_gpu_stream_synchronization(c10::DeviceType, uintptr_t) const override {}
  void trace_gpu_event_synchronization(c10::DeviceType, uintptr_t) const override {}
};

// Never destroyed: threads may outlive static objects.
const c10::impl::TorchDispatchModeTLS& refusingModes() {
  static const auto* modes = [] {
    using c10::impl::TorchDispatchModeTLS;
    auto* interpreter = new c10::impl::PyInterpreter(new NoInterpreter);
    const TorchDispatchModeTLS callers = TorchDispatchModeTLS::get_state();
    TorchDispatchModeTLS::set_state({});
    TorchDispatchModeTLS::push_non_infra_mode_onto_stack(
        std::make_shared<c10::impl::PyObject_TorchDispatchMode>(nullptr, interpreter));
    auto* made = new TorchDispatchModeTLS(TorchDispatchModeTLS::get_state());
    TorchDispatchModeTLS::set_state(callers);
    return made;
  }();
  return *modes;
}

}  // namespace

PythonKernelsRefused::PythonKernelsRefused()
    : keys_(c10::impl::tls_local_dispatch_key_set()),
      callers_(c10::impl::TorchDispatchModeTLS::get_state()) {
  c10::impl::TorchDispatchModeTLS::set_state(refusingModes());
}

PythonKernelsRefused::~PythonKernelsRefused() {
  c10::impl::TorchDispatchModeTLS::set_state(std::move(callers_));
}

}  // namespace softcann::aclnn
