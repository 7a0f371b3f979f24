// A shared library of the CANN installation, opened by name.
#pragma once

#include <initializer_list>
#include <string>

namespace torch_npu::acl {

// Looks in $ASCEND_HOME_PATH/lib64 first, then where the dynamic loader looks. The library stays
// loaded for the life of the process, also when this object goes.
class SharedLibrary {
 public:
  SharedLibrary() = default;

  // The first of `names` that can be loaded; else an object that is false and says why.
  static SharedLibrary open(std::initializer_list<const char*> names) noexcept;

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  const std::string& path() const noexcept { return path_; }
  const std::string& failure() const noexcept { return failure_; }

  // Null if this library, and those that it needs, define no such symbol.
  void* symbol(const char* name) const noexcept;

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::string failure_;
};

}  // namespace torch_npu::acl
