#include "torch_npu/csrc/acl/shared_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace torch_npu::acl {

namespace {

// A file that exists in the installation must load: falling back to another library of that name
// would mix two CANNs.
std::string pathOf(const char* name) {
  const char* home = std::getenv("ASCEND_HOME_PATH");
  if (home == nullptr || *home == '\0') {
    return name;
  }
  std::string path = std::string(home) + "/lib64/" + name;
  return access(path.c_str(), F_OK) == 0 ? path : name;
}

}  // namespace

SharedLibrary SharedLibrary::open(std::initializer_list<const char*> names) noexcept {
  SharedLibrary library;
  for (const char* name : names) {
    library.path_ = pathOf(name);
    library.handle_ = dlopen(library.path_.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library.handle_ != nullptr) {
      library.failure_.clear();
      return library;
    }
    const char* reason = dlerror();
    library.failure_ += (library.failure_.empty() ? "" : "; ");
    library.failure_ += reason != nullptr ? reason : library.path_ + " cannot be loaded";
  }
  return library;
}

void* SharedLibrary::symbol(const char* name) const noexcept {
  return handle_ != nullptr ? dlsym(handle_, name) : nullptr;
}

}  // namespace torch_npu::acl
