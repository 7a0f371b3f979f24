#include "torch_npu/csrc/acl/runtime_api.h"

#include <mutex>
#include <string>
#include <vector>

#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/shared_library.h"

namespace torch_npu::acl {

namespace detail {
const RuntimeApi* bound_api = nullptr;
}  // namespace detail

namespace {

struct RuntimeBinding {
  SharedLibrary library;
  RuntimeApi api;
  std::string failure;
};

// Fills `binding` from an open library; leaves the first missing required function in failure.
// NOLINTNEXTLINE(readability-function-size): a statement for each function
void resolveFunctions(RuntimeBinding& binding) {
#define TORCH_NPU_RESOLVE(name) \
  binding.api.name = reinterpret_cast<decltype(&::name)>(binding.library.symbol(#name));
  TORCH_NPU_REQUIRED_RUNTIME_FUNCTIONS(TORCH_NPU_RESOLVE)
  TORCH_NPU_OPTIONAL_RUNTIME_FUNCTIONS(TORCH_NPU_RESOLVE)
#undef TORCH_NPU_RESOLVE
#define TORCH_NPU_REQUIRE(name)                                 \
  if (binding.api.name == nullptr && binding.failure.empty()) { \
    binding.failure = binding.library.path() + " lacks " #name; \
  }
  TORCH_NPU_REQUIRED_RUNTIME_FUNCTIONS(TORCH_NPU_REQUIRE)
#undef TORCH_NPU_REQUIRE
}

// Bound once and never unloaded: streams' worker threads may still run library code while the
// process's destructors do.
const RuntimeBinding& runtimeBinding() noexcept {
  static const RuntimeBinding* binding = [] {
    auto* result = new RuntimeBinding;
    result->library = SharedLibrary::open({"libascendcl.so"});
    if (result->library) {
      resolveFunctions(*result);
    } else {
      result->failure = result->library.failure();
    }
    return result;
  }();
  return *binding;
}

const std::vector<SharedLibrary>& opApiLibraries() noexcept {
  static const auto* libraries = [] {
    auto* result = new std::vector<SharedLibrary>;
    for (const char* name : {"libopapi.so", "libopapi_math.so", "libopapi_nn.so", "libopapi_cv.so",
                             "libopapi_transformer.so"}) {
      SharedLibrary library = SharedLibrary::open({name});
      if (library) {
        result->push_back(std::move(library));
      }
    }
    return result;
  }();
  return *libraries;
}

}  // namespace

const RuntimeApi& detail::bindApi() {
  const RuntimeBinding& binding = runtimeBinding();
  TORCH_CHECK(binding.failure.empty(), "No CANN runtime can be used: ", binding.failure,
              ". Install softcann, or source the set_env.sh of a CANN installation.");
  const RuntimeApi* expected = nullptr;
  __atomic_compare_exchange_n(&bound_api, &expected, &binding.api, /*weak=*/false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
  return expected == nullptr ? binding.api : *expected;
}

bool available() noexcept {
  return __atomic_load_n(&detail::bound_api, __ATOMIC_ACQUIRE) != nullptr ||
         runtimeBinding().failure.empty();
}

const char* unavailableReason() noexcept {
  return available() ? "" : runtimeBinding().failure.c_str();
}

void* opApiSymbol(const char* name) noexcept {
  for (const SharedLibrary& library : opApiLibraries()) {
    if (void* symbol = library.symbol(name)) {
      return symbol;
    }
  }
  return nullptr;
}

void* runtimeSymbol(const char* name) noexcept {
  const RuntimeBinding& binding = runtimeBinding();
  return binding.library ? binding.library.symbol(name) : nullptr;
}

void bindForTesting(const RuntimeApi* table) noexcept {
  __atomic_store_n(&detail::bound_api, table, __ATOMIC_RELEASE);
}

}  // namespace torch_npu::acl
