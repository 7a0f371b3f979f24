/* The public headers compile as C11, and the values that programs compile into themselves are
 * CANN's. */
#include <stdio.h>
#include <string.h>

#include "acl/acl.h"

_Static_assert(ACL_MEMCPY_DEVICE_TO_DEVICE == 3, "ABI");
_Static_assert(ACL_BF16 == 27, "ABI");
_Static_assert(ACL_FORMAT_ND == 2, "ABI");
_Static_assert(ACL_ERROR_RT_MEMORY_ALLOCATION == 207001, "ABI");
_Static_assert(ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE == 301, "ABI");
_Static_assert(ACL_MEM_P2P_HUGE1G == 17, "ABI");
_Static_assert(sizeof(aclrtPhysicalMemProp) == 32, "ABI");
_Static_assert(sizeof(aclrtPtrAttributes) == 28, "ABI");
_Static_assert(sizeof(aclrtMemUceInfo) == 128, "ABI");
_Static_assert(sizeof(aclrtMemUsageInfo) == 112, "ABI");
_Static_assert(sizeof(aclrtUuid) == 16, "ABI");
_Static_assert(sizeof(aclCANNPackageVersion) == 512, "ABI");

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  const char* message = aclGetRecentErrMsg();
  fprintf(stderr, "failed: %s (%s)\n", what, message != NULL ? message : "no message");
  ++failures;
}

int main(void) {
  float input[4] = {1, 2, 3, 4};
  float output[4] = {0, 0, 0, 0};
  void* device = NULL;
  aclrtStream stream = NULL;
  expect(aclInit(NULL) == ACL_SUCCESS, "aclInit");
  expect(aclrtSetDevice(0) == ACL_SUCCESS, "aclrtSetDevice");
  expect(aclrtCreateStream(&stream) == ACL_SUCCESS, "aclrtCreateStream");
  expect(aclrtMalloc(&device, sizeof(input), ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS,
         "aclrtMalloc");
  expect(aclrtMemcpyAsync(device, sizeof(input), input, sizeof(input), ACL_MEMCPY_HOST_TO_DEVICE,
                          stream) == ACL_SUCCESS,
         "aclrtMemcpyAsync");
  expect(aclrtSynchronizeStream(stream) == ACL_SUCCESS, "aclrtSynchronizeStream");
  expect(aclrtMemcpy(output, sizeof(output), device, sizeof(output), ACL_MEMCPY_DEVICE_TO_HOST) ==
             ACL_SUCCESS,
         "aclrtMemcpy");
  expect(memcmp(input, output, sizeof(input)) == 0, "the copy came back");
  expect(aclrtFree(device) == ACL_SUCCESS, "aclrtFree");
  expect(aclrtDestroyStream(stream) == ACL_SUCCESS, "aclrtDestroyStream");
  expect(aclrtResetDevice(0) == ACL_SUCCESS, "aclrtResetDevice");
  expect(aclFinalize() == ACL_SUCCESS, "aclFinalize");
  return failures == 0 ? 0 : 1;
}
