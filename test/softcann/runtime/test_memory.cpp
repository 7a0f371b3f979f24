#include <cstring>

#include "runtime_test.h"

namespace {

size_t freeBytes() {
  size_t free = 0;
  size_t total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  return free;
}

}  // namespace

using MemoryTest = RuntimeTest;

TEST_F(MemoryTest, AllocationsAreAlignedAndDoNotOverlap) {
  std::vector<std::pair<uintptr_t, size_t>> blocks;
  for (size_t size : {size_t{1}, size_t{511}, size_t{512}, size_t{4096}, size_t{300} << 10,
                      size_t{3} << 20, size_t{40} << 20}) {
    void* pointer = nullptr;
    ASSERT_OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
    const auto begin = reinterpret_cast<uintptr_t>(pointer);
    EXPECT_EQ(begin % 512, 0u);
    for (const auto& [other, other_size] : blocks) {
      EXPECT_TRUE(begin + size <= other || other + other_size <= begin);
    }
    blocks.emplace_back(begin, size);
  }
  for (const auto& [begin, size] : blocks) EXPECT_OK(aclrtFree(reinterpret_cast<void*>(begin)));
}

TEST_F(MemoryTest, HostViewIsReadableAndWritable) {
  void* pointer = nullptr;
  ASSERT_OK(aclrtMalloc(&pointer, 5 << 20, ACL_MEM_MALLOC_NORMAL_ONLY));
  auto* view = static_cast<unsigned char*>(softcann::hostView(pointer));
  EXPECT_NE(static_cast<void*>(view), pointer);
  std::memset(view, 0x5a, 5 << 20);
  unsigned char last = 0;
  ASSERT_OK(aclrtMemcpy(&last, 1, static_cast<char*>(pointer) + (5 << 20) - 1, 1,
                        ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(last, 0x5a);
  EXPECT_EQ(softcann::hostView(&last), &last);
  EXPECT_OK(aclrtFree(pointer));
}

TEST_F(MemoryTest, MemInfoFollowsAllocations) {
  const size_t before = freeBytes();
  void* pointer = nullptr;
  ASSERT_OK(aclrtMallocAlign32(&pointer, 64 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(before - freeBytes(), size_t{64} << 20);
  aclrtMemUsageInfo usage = {};
  size_t count = 0;
  EXPECT_OK(aclrtGetMemUsageInfo(0, &usage, 1, &count));
  EXPECT_EQ(count, 1u);
  EXPECT_GE(usage.curMemSize, uint64_t{64} << 20);
  EXPECT_GE(usage.memPeakSize, usage.curMemSize);
  EXPECT_OK(aclrtFree(pointer));
  EXPECT_EQ(freeBytes(), before);
}

TEST_F(MemoryTest, OutOfMemoryIsACodeAndSmallerWorksNext) {
  void* pointer = nullptr;
  EXPECT_FAILS(aclrtMalloc(&pointer, size_t{65} << 30, ACL_MEM_MALLOC_HUGE_FIRST),
               ACL_ERROR_RT_MEMORY_ALLOCATION, "out of memory");
  EXPECT_FAILS(aclrtMalloc(&pointer, SIZE_MAX - 100, ACL_MEM_MALLOC_HUGE_FIRST),
               ACL_ERROR_RT_MEMORY_ALLOCATION, "more than any device");
  ASSERT_OK(aclrtMalloc(&pointer, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtFree(pointer));
}

TEST_F(MemoryTest, BadArgumentsAreNamed) {
  void* pointer = nullptr;
  EXPECT_FAILS(aclrtMalloc(nullptr, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM,
               "devPtr is null");
  EXPECT_FAILS(aclrtMalloc(&pointer, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM,
               "size is 0");
  EXPECT_FAILS(aclrtMalloc(&pointer, 1, static_cast<aclrtMemMallocPolicy>(99)),
               ACL_ERROR_INVALID_PARAM, "99");
}

TEST_F(MemoryTest, DoubleAndForeignFreesAreErrors) {
  void* pointer = nullptr;
  ASSERT_OK(aclrtMalloc(&pointer, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_FAILS(aclrtFree(static_cast<char*>(pointer) + 8), ACL_ERROR_INVALID_PARAM, "lies inside");
  EXPECT_OK(aclrtFree(pointer));
  EXPECT_FAILS(aclrtFree(pointer), ACL_ERROR_INVALID_PARAM, "freed before");
  int local = 0;
  EXPECT_FAILS(aclrtFree(&local), ACL_ERROR_INVALID_PARAM, "not device memory");
  EXPECT_FAILS(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM, "null");
}

TEST_F(MemoryTest, LargeBlocksReuseTheirPages) {
  void* first = nullptr;
  ASSERT_OK(aclrtMalloc(&first, 32 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtFree(first));
  void* second = nullptr;
  ASSERT_OK(aclrtMalloc(&second, 32 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(first, second);
  EXPECT_OK(aclrtFree(second));
}

TEST_F(MemoryTest, ManySmallBlocksComeAndGo) {
  const size_t before = freeBytes();
  std::vector<void*> blocks;
  for (int round = 0; round < 5; ++round) {
    for (size_t i = 0; i < 2000; ++i) {
      void* pointer = nullptr;
      ASSERT_OK(aclrtMalloc(&pointer, 1 + i * 37 % 9000, ACL_MEM_MALLOC_HUGE_FIRST));
      blocks.push_back(pointer);
    }
    for (size_t i = round % 2; i < blocks.size(); i += 2) EXPECT_OK(aclrtFree(blocks[i]));
    std::vector<void*> kept;
    for (size_t i = 1 - round % 2; i < blocks.size(); i += 2) kept.push_back(blocks[i]);
    blocks = kept;
  }
  for (void* pointer : blocks) EXPECT_OK(aclrtFree(pointer));
  EXPECT_EQ(freeBytes(), before);
}

TEST_F(MemoryTest, PointersTellWhereTheyAre) {
  void* device = nullptr;
  void* host = nullptr;
  ASSERT_OK(aclrtMalloc(&device, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
  ASSERT_OK(aclrtMallocHost(&host, 1000));
  aclrtPtrAttributes attributes;
  EXPECT_OK(aclrtPointerGetAttributes(static_cast<char*>(device) + 999, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.location.id, 0u);
  EXPECT_OK(aclrtPointerGetAttributes(host, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
  EXPECT_OK(aclrtPointerGetAttributes(&attributes, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  void* base = nullptr;
  size_t size = 0;
  EXPECT_OK(aclrtMemGetAddressRange(static_cast<char*>(device) + 100, &base, &size));
  EXPECT_EQ(base, device);
  EXPECT_EQ(size, 1000u);
  EXPECT_OK(aclrtFree(device));
  EXPECT_OK(aclrtFreeHost(host));
}

TEST_F(MemoryTest, HostMemoryIsAllocatedRegisteredAndFreedOnce) {
  void* host = nullptr;
  ASSERT_OK(aclrtMallocHost(&host, 1 << 20));
  std::memset(host, 1, 1 << 20);
  EXPECT_OK(aclrtFreeHost(host));
  EXPECT_FAILS(aclrtFreeHost(host), ACL_ERROR_INVALID_PARAM, "freed before");

  std::vector<char> own(5000);
  void* device = nullptr;
  ASSERT_OK(aclrtHostRegister(own.data(), own.size(), ACL_HOST_REGISTER_MAPPED, &device));
  EXPECT_EQ(device, own.data());
  EXPECT_FAILS(aclrtHostRegister(own.data() + 10, 10, ACL_HOST_REGISTER_MAPPED, &device),
               ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "already");
  EXPECT_OK(aclrtHostUnregister(own.data()));
  EXPECT_FAILS(aclrtHostUnregister(own.data()), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED,
               "not registered");
}

TEST_F(MemoryTest, MemoryFromMallocHostCanBeRegisteredForTheDevice) {
  void* host = nullptr;
  void* device = nullptr;
  ASSERT_OK(aclrtMallocHost(&host, 8192));
  void* inside = static_cast<char*>(host) + 4096;
  ASSERT_OK(aclrtHostRegister(host, 8192, ACL_HOST_REGISTER_MAPPED, &device));
  ASSERT_OK(aclrtHostRegister(inside, 4096, ACL_HOST_REGISTER_MAPPED, &device));
  EXPECT_EQ(device, inside);
  EXPECT_FAILS(aclrtHostRegister(inside, 8192, ACL_HOST_REGISTER_MAPPED, &device),
               ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "already");
  EXPECT_OK(aclrtHostUnregister(inside));
  EXPECT_OK(aclrtHostUnregister(host));
  EXPECT_FAILS(aclrtHostUnregister(host), ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "not registered");
  EXPECT_OK(aclrtFreeHost(host));
}

TEST_F(MemoryTest, ThreadsAllocateAtTheSameTime) {
  const size_t before = freeBytes();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      EXPECT_OK(aclrtSetDevice(0));
      for (size_t i = 0; i < 500; ++i) {
        void* pointer = nullptr;
        const size_t size = (i % 10 == 0 ? size_t{1} << 20 : 100) + i;
        EXPECT_OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
        const char tag = static_cast<char>(thread + 1);
        EXPECT_OK(aclrtMemset(pointer, size, tag, size));
        char last = 0;
        EXPECT_OK(aclrtMemcpy(&last, 1, static_cast<char*>(pointer) + size - 1, 1,
                              ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_EQ(last, tag);
        EXPECT_OK(aclrtFree(pointer));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(freeBytes(), before);
}

// ---- In a fresh process --------------------------------------------------------------------

using MemoryDeathTest = testing::Test;

TEST_F(MemoryDeathTest, DeviceMemoryIsSettable) {
  EXPECT_EXIT(
      {
        setenv("SOFTCANN_DEVICE_MEMORY", "100M", 1);
        size_t free = 0;
        size_t total = 0;
        void* pointer = nullptr;
        const bool right =
            aclInit(nullptr) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS &&
            aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) == ACL_SUCCESS &&
            total == size_t{100} << 20 && free == total &&
            aclrtMalloc(&pointer, 101 << 20, ACL_MEM_MALLOC_HUGE_FIRST) ==
                ACL_ERROR_RT_MEMORY_ALLOCATION &&
            aclrtMalloc(&pointer, 90 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS &&
            aclrtMalloc(&pointer, 20 << 20, ACL_MEM_MALLOC_HUGE_FIRST) ==
                ACL_ERROR_RT_MEMORY_ALLOCATION &&
            aclrtMalloc(&pointer, 5 << 20, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(MemoryDeathTest, WhatTheMachineLacksIsRefusedUnlessOvercommitted) {
  for (const char* overcommit : {"0", "1"}) {
    EXPECT_EXIT(
        {
          setenv("SOFTCANN_DEVICE_MEMORY", "32T", 1);
          setenv("SOFTCANN_DEVICE_COUNT", "1", 1);
          setenv("SOFTCANN_ADDRESS_SPACE", "40T", 1);
          setenv("SOFTCANN_OVERCOMMIT", overcommit, 1);
          void* pointer = nullptr;
          aclInit(nullptr);
          aclrtSetDevice(0);
          const aclError code = aclrtMalloc(&pointer, size_t{30} << 40, ACL_MEM_MALLOC_HUGE_FIRST);
          const std::string message = recentMessage();
          const bool right = *overcommit == '1'
                                 ? code == ACL_SUCCESS
                                 : code == ACL_ERROR_RT_MEMORY_ALLOCATION &&
                                       message.find("the machine") != std::string::npos;
          std::fprintf(stderr, "%d %s\n", code, message.c_str());
          std::_Exit(right ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << overcommit;
  }
}
