#include "runtime_test.h"

namespace {

constexpr size_t kGranule = size_t{2} << 20;

aclrtPhysicalMemProp deviceProperties() {
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

}  // namespace

class VirtualMemoryTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    ASSERT_OK(aclrtReserveMemAddress(&range, 8 * kGranule, 0, nullptr, 1));
  }
  void TearDown() override { EXPECT_OK(aclrtReleaseMemAddress(range)); }

  aclrtDrvMemHandle physical(size_t size) {
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
    return handle;
  }
  void* at(size_t offset) const { return static_cast<char*>(range) + offset; }

  aclrtPhysicalMemProp prop = deviceProperties();
  void* range = nullptr;
};

TEST_F(VirtualMemoryTest, GranularityFitsTheOtherCalls) {
  size_t granularity = 0;
  EXPECT_OK(
      aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
  EXPECT_EQ(granularity, kGranule);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_FAILS(aclrtMallocPhysical(&handle, granularity / 2, &prop, 0), ACL_ERROR_INVALID_PARAM,
               "multiple");
}

TEST_F(VirtualMemoryTest, ACopyCrossesMappingsSideBySide) {
  aclrtDrvMemHandle first = physical(kGranule);
  aclrtDrvMemHandle second = physical(kGranule);
  ASSERT_OK(aclrtMapMem(at(0), kGranule, 0, first, 0));
  ASSERT_OK(aclrtMapMem(at(kGranule), kGranule, 0, second, 0));
  std::vector<unsigned char> sent(2 * kGranule);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 7 >> 3);
  std::vector<unsigned char> received(sent.size());
  ASSERT_OK(aclrtMemcpy(range, sent.size(), sent.data(), sent.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  ASSERT_OK(aclrtMemcpy(received.data(), received.size(), range, received.size(),
                        ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(sent, received);
  EXPECT_FAILS(aclrtMemset(range, 3 * kGranule, 0, 3 * kGranule), ACL_ERROR_INVALID_PARAM,
               "go beyond");
  EXPECT_OK(aclrtUnmapMem(at(0)));
  EXPECT_OK(aclrtUnmapMem(at(kGranule)));
  EXPECT_OK(aclrtFreePhysical(first));
  EXPECT_OK(aclrtFreePhysical(second));
}

TEST_F(VirtualMemoryTest, MemoryKeepsItsBytesBetweenMappings) {
  aclrtDrvMemHandle handle = physical(kGranule);
  ASSERT_OK(aclrtMapMem(at(0), kGranule, 0, handle, 0));
  ASSERT_OK(aclrtMemset(at(0), kGranule, 0x21, kGranule));
  ASSERT_OK(aclrtUnmapMem(at(0)));
  ASSERT_OK(aclrtMapMem(at(4 * kGranule), kGranule, 0, handle, 0));
  char byte = 0;
  ASSERT_OK(aclrtMemcpy(&byte, 1, at(5 * kGranule - 1), 1, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(byte, 0x21);
  EXPECT_FAILS(aclrtMemcpy(&byte, 1, at(0), 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM,
               "not allocated");
  EXPECT_OK(aclrtUnmapMem(at(4 * kGranule)));
  EXPECT_OK(aclrtFreePhysical(handle));
}

TEST_F(VirtualMemoryTest, FreedMemoryLivesAsLongAsItIsMapped) {
  size_t before = 0;
  size_t during = 0;
  size_t after = 0;
  size_t total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
  aclrtDrvMemHandle handle = physical(2 * kGranule);
  ASSERT_OK(aclrtMapMem(at(0), kGranule, kGranule, handle, 0));
  ASSERT_OK(aclrtFreePhysical(handle));
  EXPECT_OK(aclrtMemset(at(0), kGranule, 1, kGranule));
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &during, &total));
  EXPECT_EQ(before - during, 2 * kGranule);
  EXPECT_OK(aclrtUnmapMem(at(0)));
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  EXPECT_EQ(after, before);
  EXPECT_FAILS(aclrtFreePhysical(handle), ACL_ERROR_RT_INVALID_HANDLE, "freed before");
}

TEST_F(VirtualMemoryTest, MistakesAreNamed) {
  aclrtDrvMemHandle handle = physical(kGranule);
  EXPECT_FAILS(aclrtMapMem(at(0), 2 * kGranule, 0, handle, 0), ACL_ERROR_INVALID_PARAM, "within");
  EXPECT_FAILS(aclrtMapMem(at(8 * kGranule), kGranule, 0, handle, 0), ACL_ERROR_INVALID_PARAM,
               "not reserved");
  ASSERT_OK(aclrtMapMem(at(0), kGranule, 0, handle, 0));
  EXPECT_FAILS(aclrtMapMem(at(0), kGranule, 0, handle, 0), ACL_ERROR_INVALID_PARAM,
               "mapped already");
  EXPECT_FAILS(aclrtReleaseMemAddress(range), ACL_ERROR_INVALID_PARAM, "still mapped");
  EXPECT_FAILS(aclrtFree(at(0)), ACL_ERROR_INVALID_PARAM, "aclrtUnmapMem");
  EXPECT_FAILS(aclrtUnmapMem(at(kGranule)), ACL_ERROR_INVALID_PARAM, "beginning of a mapping");
  EXPECT_OK(aclrtUnmapMem(at(0)));
  EXPECT_OK(aclrtFreePhysical(handle));
  int unrelated = 0;
  EXPECT_FAILS(aclrtFreePhysical(&unrelated), ACL_ERROR_RT_INVALID_HANDLE, "not physical");
}

TEST_F(VirtualMemoryTest, AThreadWithoutADeviceReservesAddressesOfTheFirstInWholePages) {
  std::thread([] {
    void* reserved = nullptr;
    ASSERT_OK(aclrtReserveMemAddress(&reserved, 512, 0, nullptr, 0));
    EXPECT_OK(aclrtReleaseMemAddress(reserved));
  }).join();
}
