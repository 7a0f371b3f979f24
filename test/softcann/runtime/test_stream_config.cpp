#include "runtime_test.h"

namespace {

using StreamConfigTest = RuntimeTest;
using OperatorAllocatorTest = StreamTest;

}  // namespace

TEST_F(StreamConfigTest, AStreamHasWhatItsConfigurationSays) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  ASSERT_NE(config, nullptr);
  const uint32_t priority = 3;
  const size_t flags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC;
  ASSERT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)));
  ASSERT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &flags, sizeof(flags)));
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStreamV2(&stream, config));
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
  uint32_t value = 0;
  EXPECT_OK(aclrtStreamGetPriority(stream, &value));
  EXPECT_EQ(value, priority);
  EXPECT_OK(aclrtStreamGetFlags(stream, &value));
  EXPECT_EQ(value, flags);
  EXPECT_OK(aclrtDestroyStream(stream));
}

TEST_F(StreamConfigTest, BadConfigurationsAreRefused) {
  aclrtStreamConfigHandle* config = aclrtCreateStreamConfigHandle();
  ASSERT_NE(config, nullptr);
  aclrtStream stream = nullptr;
  uint32_t priority = 8;
  EXPECT_FAILS(aclrtSetStreamConfigOpt(nullptr, ACL_RT_STREAM_PRIORITY, &priority, 4),
               ACL_ERROR_INVALID_PARAM, "handle is null");
  EXPECT_FAILS(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, nullptr, 4),
               ACL_ERROR_INVALID_PARAM, "attrValue is null");
  EXPECT_FAILS(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, 8),
               ACL_ERROR_INVALID_PARAM, "4 bytes");
  EXPECT_FAILS(aclrtSetStreamConfigOpt(config, static_cast<aclrtStreamConfigAttr>(9), &priority, 4),
               ACL_ERROR_INVALID_PARAM, "attribute 9");
  EXPECT_FAILS(aclrtCreateStreamV2(nullptr, config), ACL_ERROR_INVALID_PARAM, "stream is null");
  EXPECT_FAILS(aclrtCreateStreamV2(&stream, nullptr), ACL_ERROR_INVALID_PARAM, "handle is null");
  ASSERT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, 4));
  EXPECT_FAILS(aclrtCreateStreamV2(&stream, config), ACL_ERROR_INVALID_PARAM, "priority 8");
  priority = 0;
  ASSERT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, 4));
  void* host = &priority;
  size_t size = 4;
  ASSERT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_ADDR_PTR, &host, sizeof(host)));
  ASSERT_OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_WORK_SIZE, &size, sizeof(size)));
  EXPECT_FAILS(aclrtCreateStreamV2(&stream, config), ACL_ERROR_INVALID_PARAM,
               "not allocated device memory");
  EXPECT_OK(aclrtDestroyStreamConfigHandle(config));
  EXPECT_FAILS(aclrtDestroyStreamConfigHandle(nullptr), ACL_ERROR_INVALID_PARAM, "null");
}

TEST_F(OperatorAllocatorTest, AStreamKeepsItsAllocatorUntilItIsTakenAway) {
  int object = 0;
  const auto allocate = [](aclrtAllocator, size_t) -> void* { return nullptr; };
  const auto advised = [](aclrtAllocator, size_t, aclrtAllocatorAddr) -> void* { return nullptr; };
  const auto release = [](aclrtAllocator, aclrtAllocatorBlock) {};
  const auto address = [](aclrtAllocatorBlock block) -> void* { return block; };
  aclrtAllocatorDesc description = aclrtAllocatorCreateDesc();
  ASSERT_NE(description, nullptr);
  ASSERT_OK(aclrtAllocatorSetObjToDesc(description, &object));
  EXPECT_FAILS(aclrtAllocatorRegister(stream, description), ACL_ERROR_INVALID_PARAM, "lacks");
  ASSERT_OK(aclrtAllocatorSetAllocFuncToDesc(description, allocate));
  ASSERT_OK(aclrtAllocatorSetFreeFuncToDesc(description, release));
  ASSERT_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, address));
  ASSERT_OK(aclrtAllocatorSetAllocAdviseFuncToDesc(description, advised));
  EXPECT_FAILS(aclrtAllocatorRegister(nullptr, description), ACL_ERROR_INVALID_PARAM, "stream");
  ASSERT_OK(aclrtAllocatorRegister(stream, description));

  aclrtAllocatorDesc found = nullptr;
  aclrtAllocator its_object = nullptr;
  aclrtAllocatorAllocFunc its_allocate = nullptr;
  aclrtAllocatorFreeFunc its_free = nullptr;
  aclrtAllocatorAllocAdviseFunc its_advised = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc its_address = nullptr;
  const auto ask = [&] {
    EXPECT_OK(aclrtAllocatorGetByStream(stream, &found, &its_object, &its_allocate, &its_free,
                                        &its_advised, &its_address));
  };
  ask();
  EXPECT_EQ(found, description);
  EXPECT_EQ(its_object, &object);
  EXPECT_EQ(its_address(&object), &object);
  EXPECT_NE(its_advised, nullptr);
  ASSERT_OK(aclrtAllocatorUnregister(stream));
  ask();
  EXPECT_EQ(found, nullptr);
  EXPECT_EQ(its_allocate, nullptr);
  EXPECT_FAILS(aclrtAllocatorUnregister(stream), ACL_ERROR_INVALID_PARAM, "no registered");
  EXPECT_FAILS(
      aclrtAllocatorGetByStream(stream, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr),
      ACL_ERROR_INVALID_PARAM, "allocatorDesc is null");
  EXPECT_FAILS(aclrtAllocatorSetFreeFuncToDesc(description, nullptr), ACL_ERROR_INVALID_PARAM,
               "func is null");
  EXPECT_OK(aclrtAllocatorDestroyDesc(description));
  EXPECT_FAILS(aclrtAllocatorDestroyDesc(nullptr), ACL_ERROR_INVALID_PARAM, "null");
}
