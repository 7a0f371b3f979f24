// CANN's runtime library, bound when it is first needed.
//
// Nothing in the backend links a CANN: the library is found at run time, so that one build works
// with any installation, and importing works where there is none. Every member of RuntimeApi has
// the name and the type of the C function it stands for:
//
//   NPU_CHECK(acl::api().aclrtSetDevice(device));
#pragma once

#include "acl/acl.h"
#include "acl/acl_rt.h"
#include "torch_npu/csrc/acl/runtime_functions.h"

namespace torch_npu::acl {

struct RuntimeApi {
#define TORCH_NPU_DECLARE_MEMBER(name) decltype(&::name) name = nullptr;
  TORCH_NPU_REQUIRED_RUNTIME_FUNCTIONS(TORCH_NPU_DECLARE_MEMBER)
  TORCH_NPU_OPTIONAL_RUNTIME_FUNCTIONS(TORCH_NPU_DECLARE_MEMBER)
#undef TORCH_NPU_DECLARE_MEMBER
};

namespace detail {
// Null until the library is bound; never changes afterwards.
extern const RuntimeApi* bound_api;
// Binds the library, or throws c10::Error that says where it was looked for.
const RuntimeApi& bindApi();
}  // namespace detail

// The bound library. Throws c10::Error where no CANN can be loaded. After the first call it costs
// one load and one predictable branch.
inline const RuntimeApi& api() {
  const RuntimeApi* bound = __atomic_load_n(&detail::bound_api, __ATOMIC_ACQUIRE);
  if (__builtin_expect(bound != nullptr, 1)) {
    return *bound;
  }
  return detail::bindApi();
}

// Whether a CANN runtime can be loaded. Starts no device and never throws.
bool available() noexcept;

// Why available() is false; empty where it is true.
const char* unavailableReason() noexcept;

// A function of CANN's operator library (libopapi.so), or of the libraries into which newer CANNs
// split it; null if there is none of that name. The library is loaded at the first call.
void* opApiSymbol(const char* name) noexcept;

// A function of libascendcl.so outside RuntimeApi, such as an extension that only some
// implementations offer; null if there is none of that name or no CANN at all.
void* runtimeSymbol(const char* name) noexcept;

// Binds `table` in place of a library, so that code above this seam can be tested without one.
// The table must outlive the process's use of the binding. Null returns to the library.
void bindForTesting(const RuntimeApi* table) noexcept;

}  // namespace torch_npu::acl
