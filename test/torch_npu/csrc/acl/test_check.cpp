// Error codes become exceptions that name the call.
#include <gtest/gtest.h>

#include <string>

#include <c10/util/Exception.h>

#include "bookkeeping_runtime.h"
#include "torch_npu/csrc/acl/check.h"

namespace torch_npu {
namespace {

aclError aclrtPretend(aclError code) { return code; }

template <class Error>
std::string textOf(aclError code) {
  testing::BookkeepingRuntime::get();
  try {
    NPU_CHECK(aclrtPretend(code));
  } catch (const Error& error) {
    return error.what_without_backtrace();
  } catch (...) {
    return "another type";
  }
  return "nothing";
}

TEST(Check, SuccessDoesNothing) { EXPECT_EQ(textOf<c10::Error>(ACL_SUCCESS), "nothing"); }

TEST(Check, NamesTheCallTheCodeAndCannsReason) {
  EXPECT_EQ(textOf<c10::Error>(107000),
            "NPU error: aclrtPretend returned error code 107000: the device is full");
}

TEST(Check, MemoryAndDeviceErrorsHaveTheirOwnTypes) {
  EXPECT_NE(textOf<c10::OutOfMemoryError>(207001).find("207001"), std::string::npos);
  EXPECT_NE(textOf<c10::AcceleratorError>(507015).find("507015"), std::string::npos);
}

TEST(Check, CallsAreNamedWithoutHowTheyAreReached) {
  testing::BookkeepingRuntime::get();
  const auto& api = acl::api();
  size_t free = 0;
  acl::RuntimeApi failing = api;
  failing.aclrtGetMemInfo = [](aclrtMemAttr, size_t*, size_t*) { return aclError{500000}; };
  try {
    NPU_CHECK(failing.aclrtGetMemInfo(ACL_HBM_MEM, &free, &free));
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_NE(std::string(error.what()).find("error: aclrtGetMemInfo returned error code 500000"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace torch_npu
