#include <cstring>

#include "runtime_test.h"

namespace {

constexpr size_t kSegment = size_t{2} << 20;

class MemoryAccessTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    ASSERT_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    ASSERT_OK(aclrtMalloc(&other, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  void TearDown() override {
    StreamTest::TearDown();
    aclrtFree(memory);
    aclrtFree(other);
  }
  std::vector<uint32_t> read(void* from, size_t count) {
    std::vector<uint32_t> values(count);
    EXPECT_OK(aclrtMemcpy(values.data(), count * 4, from, count * 4, ACL_MEMCPY_DEVICE_TO_HOST));
    return values;
  }

  void* memory = nullptr;
  void* other = nullptr;
};

}  // namespace

TEST_F(MemoryAccessTest, EveryDeviceReadsAndWrites) {
  aclrtMemLocation place = {1, ACL_MEM_LOCATION_TYPE_DEVICE};
  uint64_t flags = 0;
  EXPECT_OK(aclrtMemGetAccess(memory, &place, &flags));
  EXPECT_EQ(flags, uint64_t{ACL_RT_MEM_ACCESS_FLAGS_READWRITE});
  aclrtMemAccessDesc access = {ACL_RT_MEM_ACCESS_FLAGS_READWRITE, place, {}};
  EXPECT_OK(aclrtMemSetAccess(memory, 4096, &access, 1));
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READ;
  EXPECT_FAILS(aclrtMemSetAccess(memory, 4096, &access, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
               "READWRITE");
  EXPECT_FAILS(aclrtMemSetAccess(memory, 4096, nullptr, 1), ACL_ERROR_INVALID_PARAM, "desc");
  EXPECT_FAILS(aclrtMemSetAccess(memory, 1 << 20, &access, 1), ACL_ERROR_INVALID_PARAM,
               "not allocated");
  place.id = 99;
  EXPECT_FAILS(aclrtMemGetAccess(memory, &place, &flags), ACL_ERROR_RT_INVALID_DEVICEID, "99");
  EXPECT_OK(aclrtMemP2PMap(memory, 4096, 1, 0));
  EXPECT_FAILS(aclrtMemP2PMap(memory, 4096, 99, 0), ACL_ERROR_RT_INVALID_DEVICEID, "99");
  EXPECT_FAILS(aclrtMemP2PMap(memory, 4096, 1, 1), ACL_ERROR_INVALID_PARAM, "flags");
  EXPECT_FAILS(aclrtMemP2PMap(nullptr, 4096, 1, 0), ACL_ERROR_INVALID_PARAM, "null");
}

TEST_F(MemoryAccessTest, TheTypeOfMemoryIsKnown) {
  uint32_t matches = 9;
  void* both[] = {memory, other};
  EXPECT_OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV, &matches, 0));
  EXPECT_EQ(matches, 1u);
  EXPECT_OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DVPP, &matches, 0));
  EXPECT_EQ(matches, 0u);
  both[1] = &matches;
  EXPECT_OK(aclrtCheckMemType(both, 2, ACL_RT_MEM_TYPE_DEV, &matches, 0));
  EXPECT_EQ(matches, 0u);
  EXPECT_FAILS(aclrtCheckMemType(both, 0, ACL_RT_MEM_TYPE_DEV, &matches, 0),
               ACL_ERROR_INVALID_PARAM, "size");
}

TEST_F(MemoryAccessTest, AMappingLeadsToItsHandle) {
  aclrtPhysicalMemProp prop = {};
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  aclrtDrvMemHandle handle = nullptr;
  void* range = nullptr;
  ASSERT_OK(aclrtMallocPhysical(&handle, kSegment, &prop, 0));
  ASSERT_OK(aclrtReserveMemAddressNoUCMemory(&range, kSegment, 0, nullptr, 0));
  aclrtDrvMemHandle found = nullptr;
  EXPECT_FAILS(aclrtMemRetainAllocationHandle(range, &found), ACL_ERROR_INVALID_PARAM,
               "nothing is mapped");
  ASSERT_OK(aclrtMapMem(range, kSegment, 0, handle, 0));
  ASSERT_OK(aclrtMemRetainAllocationHandle(static_cast<char*>(range) + 8, &found));
  EXPECT_EQ(found, handle);
  aclrtPhysicalMemProp kept = {};
  EXPECT_OK(aclrtMemGetAllocationPropertiesFromHandle(handle, &kept));
  EXPECT_EQ(kept.memAttr, ACL_HBM_MEM_HUGE);
  ASSERT_OK(aclrtUnmapMem(range));
  EXPECT_OK(aclrtFreePhysical(handle));
  EXPECT_OK(aclrtMemGetAllocationPropertiesFromHandle(found, &kept));  // one handle is left
  EXPECT_OK(aclrtFreePhysical(found));
  EXPECT_FAILS(aclrtFreePhysical(found), ACL_ERROR_RT_INVALID_HANDLE, "freed");
  EXPECT_FAILS(aclrtMemGetAllocationPropertiesFromHandle(handle, &kept),
               ACL_ERROR_RT_INVALID_HANDLE, "freed");
  EXPECT_OK(aclrtReleaseMemAddress(range));
}

TEST_F(MemoryAccessTest, FillsWithFourBytes) {
  ASSERT_OK(aclrtMemsetD32(memory, 4096, 0x01020304, 3));
  ASSERT_OK(aclrtMemsetD32Async(static_cast<char*>(memory) + 12, 4084, 7, 1, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(read(memory, 4), (std::vector<uint32_t>{0x01020304, 0x01020304, 0x01020304, 7}));
  EXPECT_FAILS(aclrtMemsetD32(memory, 8, 0, 3), ACL_ERROR_INVALID_PARAM, "12 bytes");
  EXPECT_FAILS(aclrtMemsetD32(memory, 4096, 0, SIZE_MAX / 2), ACL_ERROR_INVALID_PARAM, "no room");
  EXPECT_FAILS(aclrtMemsetD32(nullptr, 8, 0, 1), ACL_ERROR_INVALID_PARAM, "null");
  EXPECT_FAILS(aclrtMemsetD32(static_cast<char*>(memory) + 1, 8, 0, 1),
               ACL_ERROR_MEMORY_ADDRESS_UNALIGNED, "4 bytes");
}

TEST_F(MemoryAccessTest, ADescribedCopyReadsItsDescriptorInTheStream) {
  size_t size = 0;
  ASSERT_OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size));
  void* descriptor = nullptr;
  ASSERT_OK(aclrtMalloc(&descriptor, size, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(aclrtMemsetD32(memory, 4096, 5, 4));
  ASSERT_OK(aclrtMemsetD32(descriptor, size, 0, size / 4));
  EXPECT_OK(aclrtMemcpyAsyncWithDesc(descriptor, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_PARAM, "aclrtSetMemcpyDesc");
  ASSERT_OK(
      aclrtSetMemcpyDesc(descriptor, ACL_MEMCPY_DEVICE_TO_DEVICE, memory, other, 16, nullptr));
  ASSERT_OK(aclrtMemcpyAsyncWithDesc(descriptor, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(read(other, 4), std::vector<uint32_t>(4, 5));
  EXPECT_FAILS(aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &size),
               ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtMemcpyAsync()");
  EXPECT_FAILS(aclrtSetMemcpyDesc(&size, ACL_MEMCPY_DEVICE_TO_DEVICE, memory, other, 16, nullptr),
               ACL_ERROR_INVALID_PARAM, "desc");
  EXPECT_OK(aclrtFree(descriptor));
}

TEST_F(MemoryAccessTest, AnOffsetCopyFollowsAddressesThatTheStreamWrites) {
  void** places = nullptr;
  ASSERT_OK(aclrtMalloc(reinterpret_cast<void**>(&places), 64, ACL_MEM_MALLOC_HUGE_FIRST));
  const auto sources = const_cast<const void**>(places + 1);
  void* addresses[] = {other, memory};
  ASSERT_OK(aclrtMemsetD32(memory, 4096, 6, 8));
  ASSERT_OK(aclrtMemsetD32(other, 4096, 0, 8));
  ASSERT_OK(aclrtMemcpyAsync(places, 64, addresses, 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  ASSERT_OK(aclrtMemcpyAsyncWithOffset(places, 16, 4, sources, 8, 4,
                                       ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(read(other, 4), (std::vector<uint32_t>{0, 6, 6, 0}));
  EXPECT_FAILS(aclrtMemcpyAsyncWithOffset(places, 8, 4, sources, 8, 4,
                                          ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream),
               ACL_ERROR_INVALID_PARAM, "destMax");
  ASSERT_OK(aclrtMemcpyAsyncWithOffset(places, 1 << 20, 4096, sources, 8, 4,
                                       ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_PARAM, "destination");
  EXPECT_OK(aclrtFree(places));
}
