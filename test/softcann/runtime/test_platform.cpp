#include <sys/resource.h>

#include <cstdlib>

#include "runtime_test.h"

namespace {

// Runs in a fresh process: whether aclInit() refuses the setting and names it and its value.
void exitWithRefusal(const char* variable, const char* value) {
  setenv(variable, value, 1);
  const aclError code = aclInit(nullptr);
  const std::string message = recentMessage();
  std::fprintf(stderr, "%d %s\n", code, message.c_str());
  const bool right = code == ACL_ERROR_INVALID_PARAM &&
                     message.find(variable) != std::string::npos &&
                     message.find(std::string("\"") + value + "\"") != std::string::npos;
  std::_Exit(right ? 0 : 1);
}

void exitWithDeviceCount(uint32_t expected) {
  uint32_t count = 99;
  const bool right = aclInit(nullptr) == ACL_SUCCESS &&
                     aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == expected;
  std::_Exit(right ? 0 : 1);
}

void limitAddressSpace() {
  const rlimit limit = {rlim_t{2} << 30, rlim_t{2} << 30};
  setrlimit(RLIMIT_AS, &limit);
}

int32_t physicalId(int32_t user_id) {
  int32_t id = -1;
  aclrtGetLogicDevIdByUserDevId(user_id, &id);
  return id;
}

}  // namespace

struct Nonsense {
  const char* variable;
  const char* value;
};

class PlatformNonsenseDeathTest : public testing::TestWithParam<Nonsense> {};

TEST_P(PlatformNonsenseDeathTest, IsNamedByAclInit) {
  EXPECT_EXIT(exitWithRefusal(GetParam().variable, GetParam().value), testing::ExitedWithCode(0),
              GetParam().variable);
}

INSTANTIATE_TEST_SUITE_P(
    Variables, PlatformNonsenseDeathTest,
    testing::Values(
        Nonsense{"SOFTCANN_DEVICE_COUNT", "many"}, Nonsense{"SOFTCANN_DEVICE_COUNT", "-1"},
        Nonsense{"SOFTCANN_DEVICE_COUNT", "65"}, Nonsense{"SOFTCANN_SOC_NAME", "GeForce"},
        Nonsense{"SOFTCANN_DEVICE_MEMORY", "lots"}, Nonsense{"SOFTCANN_DEVICE_MEMORY", "0"},
        Nonsense{"SOFTCANN_DEVICE_MEMORY", "1000000T"}, Nonsense{"SOFTCANN_ADDRESS_SPACE", "12Q"},
        Nonsense{"SOFTCANN_OVERCOMMIT", "yes"}, Nonsense{"SOFTCANN_HALF_PRECISION", "half"},
        Nonsense{"ASCEND_RT_VISIBLE_DEVICES", "1,1"}, Nonsense{"ASCEND_RT_VISIBLE_DEVICES", "1,0"},
        Nonsense{"ASCEND_VISIBLE_DEVICES", "0,zwei"}, Nonsense{"ASCEND_VISIBLE_DEVICES", "8"},
        Nonsense{"ASCEND_VISIBLE_DEVICES", "1,1"}, Nonsense{"ASCEND_VISIBLE_DEVICES", "3-1"},
        Nonsense{"ASCEND_VISIBLE_DEVICES", "0,"}, Nonsense{"ASCEND_VISIBLE_DEVICES", "-1"},
        Nonsense{"SOFTCANN_TRACE", "/nowhere/trace"}, Nonsense{"ASCEND_LAUNCH_BLOCKING", "2"}));

TEST(PlatformDeathTest, HasEightDevicesByDefaultAndAsManyAsSet) {
  EXPECT_EXIT(exitWithDeviceCount(8), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("SOFTCANN_DEVICE_COUNT", "3", 1);
        exitWithDeviceCount(3);
      },
      testing::ExitedWithCode(0), "");
}

TEST(PlatformDeathTest, NoDevicesIsValid) {
  EXPECT_EXIT(
      {
        setenv("SOFTCANN_DEVICE_COUNT", "0", 1);
        uint32_t count = 99;
        const bool right = aclInit(nullptr) == ACL_SUCCESS &&
                           aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 0 &&
                           aclrtSetDevice(0) == ACL_ERROR_RT_INVALID_DEVICEID &&
                           aclFinalize() == ACL_SUCCESS;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(PlatformDeathTest, VisibleDevicesAreChosenAndRenumbered) {
  EXPECT_EXIT(
      {
        setenv("ASCEND_VISIBLE_DEVICES", "5,1-2", 1);
        int32_t user = -1;
        bool right = aclInit(nullptr) == ACL_SUCCESS && physicalId(0) == 5 && physicalId(1) == 1 &&
                     physicalId(2) == 2;
        right = right && aclrtGetUserDevIdByLogicDevId(2, &user) == ACL_SUCCESS && user == 2 &&
                aclrtSetDevice(2) == ACL_SUCCESS &&
                aclrtSetDevice(3) == ACL_ERROR_RT_INVALID_DEVICEID;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("ASCEND_VISIBLE_DEVICES", "", 1);
        exitWithDeviceCount(0);
      },
      testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        setenv("ASCEND_RT_VISIBLE_DEVICES", "2,5", 1);
        setenv("ASCEND_VISIBLE_DEVICES", "0", 1);
        const bool right = aclInit(nullptr) == ACL_SUCCESS && physicalId(0) == 2 &&
                           physicalId(1) == 5 && physicalId(2) == -1;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

struct CutList {
  const char* value;
  uint32_t count;
  const char* unread;
};

class PlatformCutListDeathTest : public testing::TestWithParam<CutList> {};

TEST_P(PlatformCutListDeathTest, IsReadUpToWhatIsNoDevice) {
  EXPECT_EXIT(
      {
        setenv("ASCEND_RT_VISIBLE_DEVICES", GetParam().value, 1);
        exitWithDeviceCount(GetParam().count);
      },
      testing::ExitedWithCode(0), GetParam().unread);
}

INSTANTIATE_TEST_SUITE_P(
    Lists, PlatformCutListDeathTest,
    testing::Values(CutList{"0,zwei", 1, "'zwei' of ASCEND_RT_VISIBLE"},
                    CutList{"1,3,8", 2, "'8' of"}, CutList{"1, 2,3", 1, "' 2,3' of"},
                    CutList{"0 ,1", 1, "' ,1' of"}, CutList{"0-3", 1, "'-3' of"},
                    CutList{"8", 0, "'8' of"}, CutList{"npu0", 0, "'npu0' of"},
                    CutList{",0", 0, "',0' of"}, CutList{"", 0, "^$"}, CutList{"0,", 1, "',' of"},
                    CutList{"0,1", 2, "^$"}, CutList{"99999999999", 0, "'99999999999' of"}));

TEST(PlatformDeathTest, VisibleDevicesMayBeChosenUntilInitialisation) {
  EXPECT_EXIT(
      {
        uint32_t count = 0;
        bool right = aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 8;
        setenv("ASCEND_RT_VISIBLE_DEVICES", "3,4", 1);
        right = right && aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 2 &&
                aclInit(nullptr) == ACL_SUCCESS && physicalId(0) == 3;
        setenv("ASCEND_RT_VISIBLE_DEVICES", "5", 1);
        right =
            right && aclrtGetDeviceCount(&count) == ACL_SUCCESS && count == 2 && physicalId(1) == 4;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(PlatformDeathTest, TooSmallAnAddressLimitIsExplained) {
  EXPECT_EXIT(
      {
        limitAddressSpace();
        const aclError code = aclInit(nullptr);
        std::fprintf(stderr, "%s\n", recentMessage().c_str());
        std::_Exit(code == ACL_SUCCESS ? 1 : 0);
      },
      testing::ExitedWithCode(0), "ulimit -v.*SOFTCANN_ADDRESS_SPACE");
}

TEST(PlatformDeathTest, LaunchBlockingRunsTasksInTheCallerAndReturnsTheirErrors) {
  EXPECT_EXIT(
      {
        setenv("ASCEND_LAUNCH_BLOCKING", "1", 1);
        aclInit(nullptr);
        aclrtSetDevice(0);
        aclrtStream stream = nullptr;
        aclrtCreateStream(&stream);
        std::thread::id ran_in;
        const aclError code = enqueueTask(stream, [&] {
          ran_in = std::this_thread::get_id();
          return ACL_SUCCESS;
        });
        const aclError failure = enqueueFailure(stream, "shapes differ");
        const std::string message = recentMessage();
        const bool right = code == ACL_SUCCESS && ran_in == std::this_thread::get_id() &&
                           failure == ACL_ERROR_INTERNAL_ERROR &&
                           message == "testOperator failed: shapes differ" &&
                           aclrtSynchronizeStream(stream) == ACL_SUCCESS &&
                           aclrtDestroyStream(stream) == ACL_SUCCESS;
        std::_Exit(right ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}
