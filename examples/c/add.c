/* Adds two tensors on a device: the whole of CANN's C interface in one page.
 *
 *   cc add.c -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" -lascendcl -lopapi
 *
 * after `source "$(softcann env)"`. Nothing in it is particular to softcann.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"

enum { kCount = 8 };

#define CHECK(call) check((call), #call)

static void check(int code, const char* call) {
  if (code != ACL_SUCCESS) {
    const char* message = aclGetRecentErrMsg();
    fprintf(stderr, "%s: error %d: %s\n", call, code, message ? message : "no message");
    exit(1);
  }
}

/* Device memory with a copy of `values` in it. */
static void* upload(const float* values) {
  void* memory = NULL;
  CHECK(aclrtMalloc(&memory, kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMemcpy(memory, kCount * sizeof(float), values, kCount * sizeof(float),
                    ACL_MEMCPY_HOST_TO_DEVICE));
  return memory;
}

/* Describes `memory` as a vector. */
static aclTensor* vector(void* memory) {
  const int64_t size = kCount;
  const int64_t stride = 1;
  aclTensor* tensor =
      aclCreateTensor(&size, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &size, 1, memory);
  check(tensor ? ACL_SUCCESS : -1, "aclCreateTensor");
  return tensor;
}

int main(void) {
  const float zeros[kCount] = {0};
  float x[kCount];
  float y[kCount];
  for (int i = 0; i < kCount; ++i) {
    x[i] = (float)i;
    y[i] = 10.0F * (float)i;
  }

  CHECK(aclInit(NULL));
  CHECK(aclrtSetDevice(0));
  aclrtStream stream = NULL;
  CHECK(aclrtCreateStream(&stream));

  void* memory[3] = {upload(x), upload(y), upload(zeros)};
  aclTensor* self = vector(memory[0]);
  aclTensor* other = vector(memory[1]);
  aclTensor* out = vector(memory[2]);
  float two = 2.0F;
  aclScalar* alpha = aclCreateScalar(&two, ACL_FLOAT);

  /* Phase one checks the arguments and names the workspace; phase two enqueues the work. */
  uint64_t workspace_size = 0;
  aclOpExecutor* executor = NULL;
  CHECK(aclnnAddGetWorkspaceSize(self, other, alpha, out, &workspace_size, &executor));
  void* workspace = NULL;
  if (workspace_size > 0) {
    CHECK(aclrtMalloc(&workspace, workspace_size, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  CHECK(aclnnAdd(workspace, workspace_size, executor, stream));
  CHECK(aclrtSynchronizeStream(stream));

  float result[kCount];
  CHECK(aclrtMemcpy(result, sizeof(result), memory[2], sizeof(result), ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < kCount; ++i) {
    printf("%g + 2 * %g = %g\n", x[i], y[i], result[i]);
  }

  aclDestroyScalar(alpha);
  aclDestroyTensor(self);
  aclDestroyTensor(other);
  aclDestroyTensor(out);
  if (workspace) {
    CHECK(aclrtFree(workspace));
  }
  for (int i = 0; i < 3; ++i) {
    CHECK(aclrtFree(memory[i]));
  }
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  return 0;
}
