#include <cmath>
#include <cstring>
#include <limits>

#include "runtime_test.h"

using SystemTest = RuntimeTest;

TEST_F(SystemTest, VersionsAreCann910) {
  aclCANNPackageVersion version;
  for (int package = ACL_PKG_NAME_CANN; package <= ACL_PKG_NAME_DRIVER; ++package) {
    EXPECT_OK(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(package), &version));
    EXPECT_STREQ(version.version, "9.1.0");
    EXPECT_STREQ(version.majorVersion, "9");
    EXPECT_STREQ(version.minorVersion, "1");
    EXPECT_STREQ(version.releaseVersion, "0");
  }
  EXPECT_FAILS(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(77), &version),
               ACL_ERROR_INVALID_PARAM, "77");
  char package[] = "runtime";
  char text[ACL_PKG_VERSION_MAX_SIZE];
  EXPECT_OK(aclsysGetVersionStr(package, text));
  EXPECT_STREQ(text, "9.1.0");
}

TEST_F(SystemTest, ChipIsA910B2) {
  EXPECT_STREQ(aclrtGetSocName(), "Ascend910B2");
  int64_t value = 0;
  EXPECT_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
  EXPECT_EQ(value, 24);
  EXPECT_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
  EXPECT_EQ(value, 48);
  EXPECT_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value));
  EXPECT_EQ(value, int64_t{192} << 20);
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  EXPECT_EQ(value, int64_t{64} << 30);
  EXPECT_FAILS(aclrtGetDeviceInfo(99, ACL_DEV_ATTR_L2_CACHE_SIZE, &value),
               ACL_ERROR_RT_INVALID_DEVICEID, "99");
  EXPECT_FAILS(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_MAINBOARD_ID, &value), ACL_ERROR_API_NOT_SUPPORT,
               "407");
}

TEST_F(SystemTest, UuidsDiffer) {
  aclrtUuid first;
  aclrtUuid again;
  aclrtUuid second;
  EXPECT_OK(aclrtDeviceGetUuid(0, &first));
  EXPECT_OK(aclrtDeviceGetUuid(0, &again));
  EXPECT_OK(aclrtDeviceGetUuid(1, &second));
  EXPECT_EQ(std::memcmp(&first, &again, sizeof(first)), 0);
  EXPECT_NE(std::memcmp(&first, &second, sizeof(first)), 0);
}

TEST_F(SystemTest, AttributesThatAreListedAreSupported) {
  const aclCannAttr* attributes = nullptr;
  size_t count = 0;
  ASSERT_OK(aclGetCannAttributeList(&attributes, &count));
  EXPECT_GE(count, 1u);
  int32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    EXPECT_OK(aclGetCannAttribute(attributes[i], &value));
    EXPECT_EQ(value, 1);
  }
  EXPECT_OK(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value));
  EXPECT_EQ(value, 0);
  EXPECT_OK(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN));
  EXPECT_FAILS(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_ERROR_API_NOT_SUPPORT,
               "INFNAN");
}

TEST_F(SystemTest, TimeoutsReadBack) {
  uint64_t actual = 0;
  EXPECT_OK(aclrtSetOpExecuteTimeOutV2(5000000, &actual));
  EXPECT_EQ(actual, 5000000u);
  uint32_t milliseconds = 0;
  EXPECT_OK(aclrtGetOpExecuteTimeout(&milliseconds));
  EXPECT_EQ(milliseconds, 5000u);
  EXPECT_OK(aclrtSetOpExecuteTimeOut(0));
}

TEST_F(SystemTest, ErrorTextIsPerThreadAndClearedByReading) {
  EXPECT_NE(aclrtSetDevice(99), ACL_SUCCESS);
  std::thread([] { EXPECT_EQ(aclGetRecentErrMsg(), nullptr); }).join();
  EXPECT_NE(recentMessage(), "");
  EXPECT_EQ(aclGetRecentErrMsg(), nullptr);
  EXPECT_EQ(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_SUCCESS);
}

TEST_F(SystemTest, WhatIsMissingSaysSo) {
  EXPECT_FAILS(aclmdlRIDestroy(nullptr), ACL_ERROR_API_NOT_SUPPORT, "aclmdlRIDestroy");
  EXPECT_FAILS(aclrtBinaryLoadFromData(nullptr, 0, nullptr, nullptr), ACL_ERROR_API_NOT_SUPPORT,
               "aclnn");
  aclrtUtilizationInfo info;
  EXPECT_FAILS(aclrtGetDeviceUtilizationRate(0, &info), ACL_ERROR_API_NOT_SUPPORT,
               "aclrtGetDeviceUtilizationRate");
  EXPECT_FAILS(aclrtLaunchKernel(nullptr, 1, nullptr, 0, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
               "aclrtLaunchKernel is not supported by softcann: device binaries");
  EXPECT_EQ(aclrtCreateBinary("", 0), nullptr);
  EXPECT_NE(recentMessage().find("aclnn"), std::string::npos);
  EXPECT_FAILS(aclmdlRIBuildBegin(nullptr, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "captured");
  EXPECT_FAILS(aclrtMemAllocManaged(nullptr, 8, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
               "aclrtMalloc()");
  EXPECT_FAILS(aclrtGetOverflowStatus(nullptr, 0, nullptr), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
               "infinities");
}

TEST_F(SystemTest, HalfPrecisionRoundsToNearestEven) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    const float value = aclFloat16ToFloat(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(aclFloat16ToFloat(aclFloatToFloat16(value))));
    } else {
      ASSERT_EQ(aclFloatToFloat16(value), half) << bits;
    }
  }
  EXPECT_EQ(aclFloatToFloat16(1.0f + 0x1p-11f), 0x3c00);      // tie: to even
  EXPECT_EQ(aclFloatToFloat16(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie: to even
  EXPECT_EQ(aclFloatToFloat16(1.0f + 0x1p-11f + 0x1p-20f), 0x3c01);
  EXPECT_EQ(aclFloatToFloat16(65519.0f), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(65520.0f), 0x7c00);
  EXPECT_EQ(aclFloatToFloat16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(aclFloatToFloat16(0x1p-25f), 0x0000);  // tie: to even
  EXPECT_EQ(aclFloatToFloat16(0x1.8p-25f), 0x0001);
}

TEST_F(SystemTest, DataTypesHaveSizes) {
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2u);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX128), 16u);
  EXPECT_EQ(aclDataTypeSize(ACL_INT4), 0u);
  int data = 0;
  aclDataBuffer* buffer = aclCreateDataBuffer(&data, sizeof(data));
  EXPECT_EQ(aclGetDataBufferAddr(buffer), &data);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), sizeof(data));
  EXPECT_OK(aclDestroyDataBuffer(buffer));
}
