// aclSetCompileopt and its readers: the options of a process.
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "acl/acl_op_compiler.h"
#include "runtime/core/task.h"

namespace {

class CompileOptions {
 public:
  // Leaked, so that a thread that ends late still finds it.
  static CompileOptions& instance() {
    static auto* options = new CompileOptions;
    return *options;
  }
  void set(aclCompileOpt option, std::string value) {
    const std::lock_guard lock(mutex_);
    values_[option] = std::move(value);
  }
  std::string get(aclCompileOpt option) {
    const std::lock_guard lock(mutex_);
    return values_[option];
  }

 private:
  std::mutex mutex_;
  std::map<aclCompileOpt, std::string> values_;
};

bool exists(aclCompileOpt option) {
  return option >= ACL_PRECISION_MODE && option <= ACL_OP_DEBUG_OPTION;
}

aclError noSuchOption(const char* function, aclCompileOpt option) {
  return softcann::fail(ACL_ERROR_INVALID_PARAM,
                        std::string(function) + ": there is no option " + std::to_string(option));
}

}  // namespace

extern "C" {

ACL_FUNC_VISIBILITY aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  if (!exists(opt)) return noSuchOption("aclSetCompileopt", opt);
  if (value == nullptr) {
    return softcann::fail(ACL_ERROR_INVALID_PARAM, "aclSetCompileopt: value is null");
  }
  CompileOptions::instance().set(opt, value);
  return ACL_SUCCESS;
}

ACL_FUNC_VISIBILITY size_t aclGetCompileoptSize(aclCompileOpt opt) {
  return exists(opt) ? CompileOptions::instance().get(opt).size() + 1 : 0;
}

ACL_FUNC_VISIBILITY aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  if (!exists(opt)) return noSuchOption("aclGetCompileopt", opt);
  const std::string text = CompileOptions::instance().get(opt);
  if (value == nullptr || length < text.size() + 1) {
    return softcann::fail(ACL_ERROR_INVALID_PARAM, "aclGetCompileopt: value needs room for " +
                                                       std::to_string(text.size() + 1) + " bytes");
  }
  std::memcpy(value, text.c_str(), text.size() + 1);
  return ACL_SUCCESS;
}

}  // extern "C"
