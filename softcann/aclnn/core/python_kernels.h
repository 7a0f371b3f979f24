// Kernels that are Python code: where torch runs in Python, it registers hundreds of meta kernels
// that are. They call public functions of torch, which a user may have replaced, and would run them
// with meta tensors in the middle of an operator.
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

namespace softcann::aclnn {

// While it lives, a kernel in Python that the calling thread comes to does not run: it throws
// c10::NotImplementedError, as an operator without a kernel does. No interpreter is needed for it,
// nor its lock.
//
// How: a kernel in Python runs in the interpreter of the thread's innermost dispatch mode, if there
// is one. The mode that is innermost here has an interpreter that runs nothing.
class PythonKernelsRefused {
 public:
  PythonKernelsRefused();
  ~PythonKernelsRefused();
  PythonKernelsRefused(const PythonKernelsRefused&) = delete;
  PythonKernelsRefused& operator=(const PythonKernelsRefused&) = delete;

 private:
  c10::impl::ForceDispatchKeyGuard keys_;  // destroyed last: modes change the thread's keys
  c10::impl::TorchDispatchModeTLS callers_;
};

}  // namespace softcann::aclnn
