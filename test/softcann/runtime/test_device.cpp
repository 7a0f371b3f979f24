#include <cstring>

#include "runtime_test.h"

using DeviceTest = RuntimeTest;

TEST_F(DeviceTest, SetDeviceChoosesPerThread) {
  ASSERT_OK(aclrtSetDevice(3));
  int32_t device = -1;
  EXPECT_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 3);
  std::thread([] {
    int32_t other = -1;
    EXPECT_FAILS(aclrtGetDevice(&other), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
    EXPECT_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtGetDevice(&other));
    EXPECT_EQ(other, 1);
    EXPECT_OK(aclrtResetDevice(1));
  }).join();
  EXPECT_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 3);
  EXPECT_OK(aclrtResetDevice(3));
  EXPECT_OK(aclrtSetDevice(0));
}

TEST_F(DeviceTest, UnknownDevicesAreRefusedWithTheCount) {
  EXPECT_FAILS(aclrtSetDevice(8), ACL_ERROR_RT_INVALID_DEVICEID, "8 devices are visible");
  EXPECT_FAILS(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID, "no device -1");
}

TEST_F(DeviceTest, LastResetFreesMemoryAndStreams) {
  ASSERT_OK(aclrtSetDevice(4));
  ASSERT_OK(aclrtSetDevice(4));
  void* pointer = nullptr;
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtMalloc(&pointer, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(aclrtCreateStream(&stream));
  ASSERT_OK(enqueueTask(stream, [] { return ACL_SUCCESS; }));
  EXPECT_OK(aclrtResetDevice(4));
  EXPECT_OK(aclrtMemset(pointer, 10, 1, 10));
  EXPECT_OK(aclrtResetDevice(4));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  EXPECT_FAILS(aclrtMemset(pointer, 10, 1, 10), ACL_ERROR_INVALID_PARAM, "not allocated");
  EXPECT_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL, "reset");
  EXPECT_FAILS(aclrtResetDevice(4), ACL_ERROR_RT_CONTEXT_NULL, "not in use");
  ASSERT_OK(aclrtSetDevice(4));
  size_t free = 0;
  size_t total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT_EQ(free, total);
  EXPECT_OK(aclrtResetDeviceForce(4));
  EXPECT_OK(aclrtSetDevice(0));
}

TEST_F(DeviceTest, TaskAbortEmptiesAllStreams) {
  ASSERT_OK(aclrtSetDevice(5));
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  holdUpUntilAborted(stream);
  bool ran = false;
  ASSERT_OK(enqueueTask(stream, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  EXPECT_OK(aclrtDeviceTaskAbort(5, kPatienceMs));
  EXPECT_FALSE(ran);
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_OK(aclrtResetDevice(5));
  EXPECT_OK(aclrtSetDevice(0));
}

TEST_F(DeviceTest, ContextsHaveTheirOwnDefaultStream) {
  aclrtStream primary = nullptr;
  ASSERT_OK(aclrtCtxGetCurrentDefaultStream(&primary));
  aclrtContext previous = nullptr;
  ASSERT_OK(aclrtGetCurrentContext(&previous));
  aclrtContext context = nullptr;
  ASSERT_OK(aclrtCreateContext(&context, 0));
  aclrtStream own = nullptr;
  ASSERT_OK(aclrtCtxGetCurrentDefaultStream(&own));
  EXPECT_NE(own, primary);
  EXPECT_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  int64_t value = 0;
  EXPECT_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 1);
  EXPECT_OK(aclrtDestroyContext(context));
  EXPECT_FAILS(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  EXPECT_FAILS(aclrtDestroyContext(previous), ACL_ERROR_INVALID_PARAM, "aclrtResetDevice");
  ASSERT_OK(aclrtSetCurrentContext(previous));
  aclrtStream again = nullptr;
  EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&again));
  EXPECT_EQ(again, primary);
}

TEST_F(DeviceTest, AccessToPeersIsSwitchedOnAndOff) {
  int32_t can = -1;
  EXPECT_OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_OK(aclrtDeviceCanAccessPeer(&can, 0, 0));
  EXPECT_EQ(can, 0);
  EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
  EXPECT_FAILS(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_INVALID_PARAM, "own peer");
  const auto status = [] {
    int32_t value = -1;
    EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &value));
    return value;
  };
  EXPECT_EQ(status(), 1);
  EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
  EXPECT_EQ(status(), 0);
  EXPECT_FAILS(aclrtDeviceDisablePeerAccess(1), ACL_ERROR_INVALID_PARAM, "not enabled");
  EXPECT_FAILS(aclrtDeviceDisablePeerAccess(99), ACL_ERROR_RT_INVALID_DEVICEID, "99");
}

TEST_F(DeviceTest, PhysicalIdsCountTheMachinesDevices) {
  int32_t id = -1;
  EXPECT_OK(aclrtGetPhyDevIdByUserDevId(1, &id));
  EXPECT_OK(aclrtGetUserDevIdByPhyDevId(id, &id));
  EXPECT_EQ(id, 1);
  EXPECT_OK(aclrtGetPhyDevIdByLogicDevId(2, &id));
  EXPECT_EQ(id, 2);
  EXPECT_OK(aclrtGetLogicDevIdByPhyDevId(3, &id));
  EXPECT_EQ(id, 3);
  EXPECT_FAILS(aclrtGetPhyDevIdByLogicDevId(99, &id), ACL_ERROR_RT_INVALID_DEVICEID, "99");
  EXPECT_FAILS(aclrtGetPhyDevIdByLogicDevId(0, nullptr), ACL_ERROR_INVALID_PARAM, "phyDevId");
  int32_t compatible = -1;
  EXPECT_OK(aclrtCheckArchCompatibility(aclrtGetSocName(), &compatible));
  EXPECT_EQ(compatible, 1);
  EXPECT_OK(aclrtCheckArchCompatibility("Ascend310P3", &compatible));
  EXPECT_EQ(compatible, 0);
  uint32_t groups = 9;
  EXPECT_OK(aclrtGetGroupCount(&groups));
  EXPECT_EQ(groups, 0u);
  EXPECT_FAILS(aclrtSetGroup(1), ACL_ERROR_RT_GROUP_NOT_CREATE, "aclrtSetDeviceResLimit");
}

TEST_F(DeviceTest, ResourceLimitsAreKeptByDeviceStreamAndThread) {
  uint32_t value = 0;
  EXPECT_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, 24u);
  EXPECT_FAILS(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25), ACL_ERROR_INVALID_PARAM,
               "1 to 24");
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  EXPECT_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 12));
  EXPECT_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, 12u);
  EXPECT_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 6));
  EXPECT_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, 12u);
  EXPECT_OK(aclrtUseStreamResInCurrentThread(stream));
  EXPECT_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, 6u);
  EXPECT_OK(aclrtUnuseStreamResInCurrentThread(stream));
  EXPECT_OK(aclrtResetDeviceResLimit(0));
  EXPECT_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_EQ(value, 24u);
  EXPECT_OK(aclrtDestroyStream(stream));
}
