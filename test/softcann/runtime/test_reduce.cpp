#include <cmath>
#include <cstring>
#include <limits>

#include "runtime_test.h"

namespace {

class ReduceTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    ASSERT_OK(aclrtMalloc(&dst, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
    ASSERT_OK(aclrtMalloc(&src, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  }
  void TearDown() override {
    StreamTest::TearDown();
    aclrtFree(dst);
    aclrtFree(src);
  }

  template <class T>
  std::vector<T> reduce(aclrtReduceKind kind, aclDataType type, std::vector<T> to,
                        const std::vector<T>& from) {
    const size_t bytes = to.size() * sizeof(T);
    EXPECT_OK(aclrtMemcpy(dst, kBytes, to.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpy(src, kBytes, from.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtReduceAsync(dst, src, bytes, kind, type, stream, nullptr));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtMemcpy(to.data(), bytes, dst, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return to;
  }
  template <class T>
  void checkIntegers(aclDataType type) {
    const T most = std::numeric_limits<T>::max();
    const T least = std::numeric_limits<T>::min();
    using Result = std::vector<T>;
    EXPECT_EQ(reduce<T>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, type, {1, most, 5}, {2, 1, 0}),
              (Result{3, least, 5}));
    EXPECT_EQ(reduce<T>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, type, {1, most, least}, {2, 1, 7}),
              (Result{2, most, 7}));
    EXPECT_EQ(reduce<T>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, type, {1, most, least}, {2, 1, 7}),
              (Result{1, 1, least}));
  }

  static constexpr size_t kBytes = 1024;
  void* dst = nullptr;
  void* src = nullptr;
};

}  // namespace

TEST_F(ReduceTest, IntegersWrapAround) {
  checkIntegers<int8_t>(ACL_INT8);
  checkIntegers<int16_t>(ACL_INT16);
  checkIntegers<int32_t>(ACL_INT32);
  checkIntegers<uint32_t>(ACL_UINT32);
}

TEST_F(ReduceTest, FloatsKeepNaN) {
  const float nan = std::nanf("");
  auto sum = reduce<float>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, {1.5f, -2}, {2, 0.5f});
  EXPECT_EQ(sum, (std::vector<float>{3.5f, -1.5f}));
  auto most = reduce<float>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX, ACL_FLOAT, {1, nan, 3}, {2, 1, nan});
  EXPECT_EQ(most[0], 2);
  EXPECT_TRUE(std::isnan(most[1]));
  EXPECT_TRUE(std::isnan(most[2]));
}

TEST_F(ReduceTest, SixteenBitFloatsRoundToNearestEven) {
  const auto half = [](float value) { return aclFloatToFloat16(value); };
  EXPECT_EQ(reduce<uint16_t>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT16,
                             {half(2048), half(0.5f)}, {half(1), half(0.25f)}),
            (std::vector<uint16_t>{half(2048), half(0.75f)}));
  // bfloat16: 1 is 0x3f80; half an ulp above it is 0x3b80 (2^-8), which rounds to the even 1.
  EXPECT_EQ(reduce<uint16_t>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_BF16, {0x3f80, 0x3f81, 0x3f80},
                             {0x3b80, 0x3b80, 0x3f80}),
            (std::vector<uint16_t>{0x3f80, 0x3f82, 0x4000}));
  EXPECT_EQ(reduce<uint16_t>(ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN, ACL_BF16, {0x3f80}, {0xbf80}),
            (std::vector<uint16_t>{0xbf80}));
}

TEST_F(ReduceTest, RunsInStreamOrderAndInPlace) {
  const std::vector<int32_t> ones(4, 1);
  ASSERT_OK(aclrtMemcpyAsync(dst, kBytes, ones.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(aclrtReduceAsync(dst, dst, 16, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, stream,
                               nullptr));
  }
  ASSERT_OK(aclrtSynchronizeStream(stream));
  std::vector<int32_t> result(4);
  ASSERT_OK(aclrtMemcpy(result.data(), 16, dst, 16, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(result, std::vector<int32_t>(4, 32));
}

TEST_F(ReduceTest, BadArgumentsAreRefusedAtTheCall) {
  constexpr auto kSum = ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM;
  const auto refused = [&](void* to, const void* from, size_t bytes, aclrtReduceKind kind,
                           aclDataType type, const char* text, void* reserve = nullptr) {
    EXPECT_FAILS(aclrtReduceAsync(to, from, bytes, kind, type, stream, reserve),
                 ACL_ERROR_INVALID_PARAM, text);
  };
  refused(nullptr, src, 4, kSum, ACL_FLOAT, "dst is null");
  refused(dst, nullptr, 4, kSum, ACL_FLOAT, "src is null");
  refused(dst, src, 4, kSum, ACL_FLOAT, "reserved", dst);
  refused(dst, src, 0, kSum, ACL_FLOAT, "count is 0");
  refused(dst, src, 6, kSum, ACL_FLOAT, "multiple of 4");
  refused(dst, src, 8, kSum, ACL_DOUBLE, "data type 11");
  refused(dst, src, 4, static_cast<aclrtReduceKind>(14), ACL_FLOAT, "kind 14");
  refused(dst, src, 4 * kBytes, kSum, ACL_FLOAT, "beyond its allocation");
  refused(dst, static_cast<char*>(dst) + 4, 8, kSum, ACL_FLOAT, "overlap");
  float host = 0;
  refused(dst, &host, 4, kSum, ACL_FLOAT, "not device memory");
  EXPECT_FAILS(
      aclrtReduceAsync(dst, src, 4, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL, ACL_FLOAT, stream, nullptr),
      ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclnnEqTensor");
  ASSERT_OK(aclrtSetDevice(1));
  void* elsewhere = nullptr;
  ASSERT_OK(aclrtMalloc(&elsewhere, 4, ACL_MEM_MALLOC_HUGE_FIRST));
  refused(dst, elsewhere, 4, kSum, ACL_FLOAT, "device 1");
  EXPECT_OK(aclrtFree(elsewhere));
  EXPECT_OK(aclrtResetDevice(1));
  ASSERT_OK(aclrtSetDevice(0));
}
