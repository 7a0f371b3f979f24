#include <cstring>
#include <numeric>

#include "runtime_test.h"

class CopyTest : public StreamTest {
 protected:
  static constexpr size_t kSize = 100000;

  void SetUp() override {
    StreamTest::SetUp();
    ASSERT_OK(aclrtMalloc(&first, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    ASSERT_OK(aclrtMalloc(&second, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
    sent.resize(kSize);
    received.assign(kSize, 0);
    for (size_t i = 0; i < kSize; ++i) sent[i] = static_cast<unsigned char>(i * 31 >> 2);
  }
  void TearDown() override {
    StreamTest::TearDown();
    EXPECT_OK(aclrtFree(first));
    EXPECT_OK(aclrtFree(second));
  }

  void* first = nullptr;
  void* second = nullptr;
  std::vector<unsigned char> sent;
  std::vector<unsigned char> received;
};

TEST_F(CopyTest, AllDirections) {
  ASSERT_OK(aclrtMemcpy(first, kSize, sent.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE));
  ASSERT_OK(aclrtMemcpy(second, kSize, first, kSize, ACL_MEMCPY_DEVICE_TO_DEVICE));
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, second, kSize, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(sent, received);
  std::vector<unsigned char> copy(kSize);
  ASSERT_OK(aclrtMemcpy(copy.data(), kSize, sent.data(), kSize, ACL_MEMCPY_HOST_TO_HOST));
  EXPECT_EQ(sent, copy);
}

TEST_F(CopyTest, DefaultKindFollowsTheAddresses) {
  ASSERT_OK(aclrtMemcpy(first, kSize, sent.data(), kSize, ACL_MEMCPY_DEFAULT));
  ASSERT_OK(aclrtMemcpy(second, kSize, first, kSize, ACL_MEMCPY_DEFAULT));
  ASSERT_OK(aclrtMemcpyAsync(received.data(), kSize, second, kSize, ACL_MEMCPY_DEFAULT, stream));
  EXPECT_EQ(sent, received);
}

TEST_F(CopyTest, BetweenDevices) {
  void* remote = nullptr;
  ASSERT_OK(aclrtSetDevice(1));
  ASSERT_OK(aclrtMalloc(&remote, kSize, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(aclrtMemcpy(remote, kSize, sent.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE));
  ASSERT_OK(aclrtMemcpy(first, kSize, remote, kSize, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE));
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, first, kSize, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(sent, received);
  EXPECT_OK(aclrtFree(remote));
  EXPECT_OK(aclrtResetDevice(1));
  EXPECT_OK(aclrtSetDevice(0));
}

TEST_F(CopyTest, OverflowsAreRefused) {
  EXPECT_FAILS(aclrtMemcpy(first, 10, sent.data(), 11, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "destMax");
  EXPECT_FAILS(aclrtMemcpy(first, kSize + 1, sent.data(), kSize + 1, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "go beyond its allocation");
  EXPECT_FAILS(aclrtMemcpy(received.data(), kSize, static_cast<char*>(first) + 1, kSize,
                           ACL_MEMCPY_DEVICE_TO_HOST),
               ACL_ERROR_INVALID_PARAM, "go beyond its allocation");
  EXPECT_FAILS(aclrtMemset(first, kSize + 1, 0, kSize + 1), ACL_ERROR_INVALID_PARAM, "go beyond");
  EXPECT_FAILS(aclrtMemsetAsync(first, 5, 0, 6, stream), ACL_ERROR_INVALID_PARAM, "do not fit");
}

TEST_F(CopyTest, KindsThatDisagreeWithTheAddressesAreRefused) {
  EXPECT_FAILS(aclrtMemcpy(sent.data(), kSize, received.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "not device memory");
  EXPECT_FAILS(aclrtMemcpy(first, kSize, second, kSize, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "the kind says host");
  EXPECT_FAILS(aclrtMemcpy(first, 1, sent.data(), 1, static_cast<aclrtMemcpyKind>(42)),
               ACL_ERROR_INVALID_PARAM, "42");
  EXPECT_FAILS(aclrtMemcpy(nullptr, 1, sent.data(), 1, ACL_MEMCPY_HOST_TO_HOST),
               ACL_ERROR_INVALID_PARAM, "dst is null");
}

TEST_F(CopyTest, SmallPageableSourceMayBeReusedAtOnce) {
  Gate gate;
  gate.holdUp(stream);
  std::vector<unsigned char> source(65536, 1);
  ASSERT_OK(aclrtMemcpyAsync(first, kSize, source.data(), source.size(), ACL_MEMCPY_HOST_TO_DEVICE,
                             stream));
  std::fill(source.begin(), source.end(), 2);
  gate.open();
  ASSERT_OK(aclrtSynchronizeStream(stream));
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, first, source.size(), ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(received[0], 1);
  EXPECT_EQ(received[65535], 1);
}

TEST_F(CopyTest, LargePageableSourceIsCopiedBeforeReturn) {
  ASSERT_OK(aclrtMemcpyAsync(first, kSize, sent.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  const std::vector<unsigned char> expected = sent;
  std::fill(sent.begin(), sent.end(), 0);
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, first, kSize, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(received, expected);
}

TEST_F(CopyTest, PinnedMemoryIsCopiedAsynchronously) {
  void* pinned = nullptr;
  ASSERT_OK(aclrtMallocHost(&pinned, kSize));
  std::memset(pinned, 1, kSize);
  Gate gate;
  gate.holdUp(stream);
  ASSERT_OK(aclrtMemcpyAsync(first, kSize, pinned, kSize, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  std::memset(pinned, 2, kSize);
  gate.open();
  ASSERT_OK(aclrtSynchronizeStream(stream));
  ASSERT_OK(aclrtMemcpyAsync(pinned, kSize, first, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(static_cast<char*>(pinned)[kSize - 1], 2);
  EXPECT_OK(aclrtFreeHost(pinned));
}

TEST_F(CopyTest, DeviceToPageableHostIsThereOnReturn) {
  ASSERT_OK(aclrtMemcpyAsync(first, kSize, sent.data(), kSize, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  ASSERT_OK(enqueueTask(stream, [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return ACL_SUCCESS;
  }));
  ASSERT_OK(
      aclrtMemcpyAsync(received.data(), kSize, first, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_EQ(sent, received);
}

TEST_F(CopyTest, TwoDimensionsKeepWhatLiesBetweenRows) {
  ASSERT_OK(aclrtMemset(first, kSize, 0, kSize));
  ASSERT_OK(aclrtMemcpy2d(first, 64, sent.data(), 10, 10, 5, ACL_MEMCPY_HOST_TO_DEVICE));
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, first, 320, ACL_MEMCPY_DEVICE_TO_HOST));
  for (size_t row = 0; row < 5; ++row) {
    for (size_t column = 0; column < 64; ++column) {
      EXPECT_EQ(received[row * 64 + column], column < 10 ? sent[row * 10 + column] : 0);
    }
  }
  std::vector<unsigned char> back(50);
  ASSERT_OK(
      aclrtMemcpy2dAsync(back.data(), 10, first, 64, 10, 5, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_EQ(back, std::vector<unsigned char>(sent.begin(), sent.begin() + 50));
  EXPECT_FAILS(aclrtMemcpy2d(first, 8, sent.data(), 10, 10, 5, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "wider than a pitch");
  EXPECT_FAILS(aclrtMemcpy2d(first, kSize, sent.data(), 10, 10, 5, ACL_MEMCPY_HOST_TO_DEVICE),
               ACL_ERROR_INVALID_PARAM, "go beyond");
}

TEST_F(CopyTest, BatchNamesTheBadCopyAndRunsNone) {
  ASSERT_OK(aclrtMemset(first, kSize, 0, kSize));
  void* dsts[] = {first, second};
  size_t rooms[] = {10, 10};
  void* srcs[] = {sent.data(), sent.data() + 10};
  size_t sizes[] = {10, 11};
  size_t bad = 0;
  EXPECT_FAILS(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 2, nullptr, nullptr, 0, &bad),
               ACL_ERROR_INVALID_PARAM, "destMax");
  EXPECT_EQ(bad, 1u);
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, first, 10, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(received[1], 0);
  sizes[1] = 10;
  ASSERT_OK(aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, 2, nullptr, nullptr, 0, &bad, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(bad, SIZE_MAX);
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, second, 10, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(received[0], sent[10]);
}

TEST_F(CopyTest, MemsetFillsExactlyTheRange) {
  ASSERT_OK(aclrtMemset(first, kSize, 0, kSize));
  ASSERT_OK(aclrtMemsetAsync(static_cast<char*>(first) + 10, kSize - 10, 0xab, 5, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  ASSERT_OK(aclrtMemcpy(received.data(), kSize, first, kSize, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(std::accumulate(received.begin(), received.end(), 0), 5 * 0xab);
  EXPECT_EQ(received[9], 0);
  EXPECT_EQ(received[14], 0xab);
}

TEST_F(CopyTest, PrefetchIsAHintAndOthersAreRefused) {
  EXPECT_OK(aclrtCmoAsync(first, kSize, ACL_RT_CMO_TYPE_PREFETCH, stream));
  EXPECT_FAILS(aclrtCmoAsync(first, kSize, ACL_RT_CMO_TYPE_INVALID, stream),
               ACL_ERROR_API_NOT_SUPPORT, "PREFETCH");
  EXPECT_OK(aclrtSynchronizeStream(stream));
}
