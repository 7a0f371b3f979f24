#include <array>

#include "runtime_test.h"
#include "second_process.h"

namespace {

constexpr size_t kKeySize = 65;
using Key = std::array<char, kKeySize>;

// With two streams and a notify.
class NotifyTest : public StreamTest {
 protected:
  void SetUp() override {
    StreamTest::SetUp();
    ASSERT_OK(aclrtCreateStream(&other));
    ASSERT_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  }
  void TearDown() override {
    if (other != nullptr) aclrtDestroyStreamForce(other);
    StreamTest::TearDown();
    if (notify != nullptr) aclrtDestroyNotify(notify);
  }
  bool isIdle(aclrtStream which) {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_OK(aclrtStreamQuery(which, &status));
    return status == ACL_STREAM_STATUS_COMPLETE;
  }

  aclrtStream other = nullptr;
  aclrtNotify notify = nullptr;
};

}  // namespace

TEST_F(NotifyTest, AWaitMayComeBeforeTheRecording) {
  std::atomic<bool> recorded{false};
  bool seen = false;
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  ASSERT_OK(enqueueTask(stream, [&] {
    seen = recorded.load();
    return ACL_SUCCESS;
  }));
  EXPECT_FALSE(isIdle(stream));
  ASSERT_OK(enqueueTask(other, [&] {
    recorded.store(true);
    return ACL_SUCCESS;
  }));
  ASSERT_OK(aclrtRecordNotify(notify, other));
  ASSERT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  EXPECT_TRUE(seen);
}

TEST_F(NotifyTest, EachRecordingLetsOneWaitPass) {
  ASSERT_OK(aclrtRecordNotify(notify, stream));
  ASSERT_OK(aclrtRecordNotify(notify, stream));  // set already: still one
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  ASSERT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 1));
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs), ACL_ERROR_RT_TASK_TIMEOUT,
               "not recorded within 1 s");
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(NotifyTest, ResettingTakesARecordingBack) {
  ASSERT_OK(aclrtRecordNotify(notify, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  ASSERT_OK(aclrtNotifyBatchReset(&notify, 1));
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 1));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs), ACL_ERROR_RT_TASK_TIMEOUT);
  aclrtNotify both[] = {notify, nullptr};
  ASSERT_OK(aclrtRecordNotify(notify, stream));
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_FAILS(aclrtNotifyBatchReset(both, 2), ACL_ERROR_RT_INVALID_HANDLE, "null");
  // A bad handle among them leaves all as they are.
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 1));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
}

TEST_F(NotifyTest, AbortingEndsAWaitThatNobodyRecords) {
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  ASSERT_OK(aclrtStreamAbort(stream));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  ASSERT_OK(aclrtDeviceTaskAbort(0, 0));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  EXPECT_OK(aclrtDestroyStreamForce(stream));
  stream = nullptr;
}

TEST_F(NotifyTest, ADroppedRecordingSetsNothing) {
  holdUpUntilAborted(other);
  ASSERT_OK(aclrtRecordNotify(notify, other));
  ASSERT_OK(aclrtStreamAbort(other));
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 1));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs), ACL_ERROR_RT_TASK_TIMEOUT);
}

TEST_F(NotifyTest, TasksKeepADestroyedNotify) {
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  Gate gate;
  gate.holdUp(other);
  ASSERT_OK(aclrtRecordNotify(notify, other));
  ASSERT_OK(aclrtDestroyNotify(notify));
  aclrtNotify another = nullptr;
  ASSERT_OK(aclrtCreateNotify(&another, 0));
  EXPECT_NE(another, notify);
  gate.open();
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  EXPECT_OK(aclrtDestroyNotify(another));
  EXPECT_FAILS(aclrtDestroyNotify(notify), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  EXPECT_FAILS(aclrtRecordNotify(notify, stream), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  notify = nullptr;
}

TEST_F(NotifyTest, BadArgumentsAreRefused) {
  uint32_t id = 0;
  char key[kKeySize];
  int32_t pid = 1;
  aclrtNotify imported = nullptr;
  EXPECT_FAILS(aclrtCreateNotify(nullptr, 0), ACL_ERROR_INVALID_PARAM, "notify is null");
  EXPECT_FAILS(aclrtCreateNotify(&imported, 2), ACL_ERROR_INVALID_PARAM, "flags 2");
  EXPECT_FAILS(aclrtDestroyNotify(nullptr), ACL_ERROR_RT_INVALID_HANDLE, "null");
  EXPECT_FAILS(aclrtRecordNotify(nullptr, stream), ACL_ERROR_RT_INVALID_HANDLE, "null");
  EXPECT_FAILS(aclrtWaitAndResetNotify(nullptr, stream, 0), ACL_ERROR_RT_INVALID_HANDLE, "null");
  EXPECT_FAILS(aclrtGetNotifyId(notify, nullptr), ACL_ERROR_INVALID_PARAM, "notifyId is null");
  EXPECT_FAILS(aclrtGetNotifyId(nullptr, &id), ACL_ERROR_RT_INVALID_HANDLE, "null");
  EXPECT_FAILS(aclrtNotifyBatchReset(nullptr, 1), ACL_ERROR_INVALID_PARAM, "notifies is null");
  EXPECT_FAILS(aclrtNotifyBatchReset(&notify, 0), ACL_ERROR_INVALID_PARAM, "num is 0");
  EXPECT_FAILS(aclrtNotifyGetExportKey(notify, nullptr, kKeySize, 0), ACL_ERROR_INVALID_PARAM,
               "key is null");
  EXPECT_FAILS(aclrtNotifyGetExportKey(notify, key, 10, 0), ACL_ERROR_INVALID_PARAM, "65 bytes");
  EXPECT_FAILS(aclrtNotifyGetExportKey(notify, key, kKeySize, 1), ACL_ERROR_INVALID_PARAM,
               "flags 1");
  EXPECT_FAILS(aclrtNotifySetImportPid(notify, &pid, 1), ACL_ERROR_INVALID_PARAM, "not exported");
  EXPECT_FAILS(aclrtNotifyImportByKey(&imported, "nonsense", 0), ACL_ERROR_INVALID_PARAM,
               "not a key of a shared notify");
  ASSERT_OK(aclrtNotifyGetExportKey(notify, key, kKeySize, 0));
  EXPECT_FAILS(aclrtNotifyImportByKey(&imported, key, 0), ACL_ERROR_INVALID_PARAM,
               "use the notify itself");
  EXPECT_FAILS(aclrtNotifySetImportPid(notify, nullptr, 1), ACL_ERROR_INVALID_PARAM, "pid is null");
  EXPECT_FAILS(aclrtNotifySetImportPidInterServer(notify, nullptr, 0),
               ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "aclrtNotifySetImportPid()");
  aclrtCntNotify counting = nullptr;
  ASSERT_OK(aclrtCntNotifyCreate(&counting, 0));
  EXPECT_FAILS(aclrtRecordNotify(counting, stream), ACL_ERROR_RT_INVALID_HANDLE, "null");
  EXPECT_OK(aclrtCntNotifyDestroy(counting));
}

TEST_F(NotifyTest, EachNotifyHasAnIdOfItsOwn) {
  aclrtNotify second = nullptr;
  uint32_t ids[2] = {0, 0};
  ASSERT_OK(aclrtCreateNotify(&second, ACL_NOTIFY_DEVICE_USE_ONLY));
  EXPECT_OK(aclrtGetNotifyId(notify, &ids[0]));
  EXPECT_OK(aclrtGetNotifyId(second, &ids[1]));
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_OK(aclrtDestroyNotify(second));
}

TEST_F(NotifyTest, ManyNotifiesAreIndependent) {
  std::vector<aclrtNotify> all(1500);
  for (aclrtNotify& one : all) ASSERT_OK(aclrtCreateNotify(&one, 0));
  for (size_t i = 0; i < all.size(); i += 2) ASSERT_OK(aclrtRecordNotify(all[i], other));
  for (size_t i = 0; i < all.size(); i += 2) ASSERT_OK(aclrtWaitAndResetNotify(all[i], stream, 0));
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  ASSERT_OK(aclrtWaitAndResetNotify(all[1], stream, 1));
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs), ACL_ERROR_RT_TASK_TIMEOUT);
  for (aclrtNotify one : all) EXPECT_OK(aclrtDestroyNotify(one));
}

TEST_F(NotifyTest, ACountIsWrittenAndAwaitedInEveryMode) {
  aclrtCntNotify count = nullptr;
  ASSERT_OK(aclrtCntNotifyCreate(&count, 0));
  const auto record = [&](aclrtCntNotifyRecordMode mode, uint32_t value) {
    aclrtCntNotifyRecordInfo info = {mode, value};
    ASSERT_OK(aclrtCntNotifyRecord(count, other, &info));
    ASSERT_OK(aclrtSynchronizeStream(other));
  };
  const auto passes = [&](aclrtCntNotifyWaitMode mode, uint32_t value, uint8_t clears = 0) {
    aclrtCntNotifyWaitInfo info = {mode, value, 1, clears, {}};
    EXPECT_OK(aclrtCntNotifyWaitWithTimeout(count, stream, &info));
    const aclError code = aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs);
    EXPECT_TRUE(code == ACL_SUCCESS || code == ACL_ERROR_RT_TASK_TIMEOUT) << code;
    return code == ACL_SUCCESS;
  };
  record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 6);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 6));
  record(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 4);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 9));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 10));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 11));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 8));
  record(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 1);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 11));
  record(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 3);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 3, /*clears=*/1));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0));
  EXPECT_FALSE(passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 0));
  record(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 5);
  ASSERT_OK(aclrtCntNotifyReset(count, other));
  ASSERT_OK(aclrtSynchronizeStream(other));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0));
  EXPECT_OK(aclrtCntNotifyDestroy(count));
}

TEST_F(NotifyTest, BadArgumentsOfCountsAreRefused) {
  aclrtCntNotify count = nullptr;
  uint32_t id = 0;
  EXPECT_FAILS(aclrtCntNotifyCreate(nullptr, 0), ACL_ERROR_INVALID_PARAM, "null");
  EXPECT_FAILS(aclrtCntNotifyCreate(&count, 1), ACL_ERROR_INVALID_PARAM, "reserved");
  ASSERT_OK(aclrtCntNotifyCreate(&count, 0));
  aclrtCntNotifyRecordInfo record = {static_cast<aclrtCntNotifyRecordMode>(3), 0};
  EXPECT_FAILS(aclrtCntNotifyRecord(count, stream, &record), ACL_ERROR_INVALID_PARAM, "mode 3");
  EXPECT_FAILS(aclrtCntNotifyRecord(count, stream, nullptr), ACL_ERROR_INVALID_PARAM, "info");
  aclrtCntNotifyWaitInfo wait = {static_cast<aclrtCntNotifyWaitMode>(5), 0, 0, 0, {}};
  EXPECT_FAILS(aclrtCntNotifyWaitWithTimeout(count, stream, &wait), ACL_ERROR_INVALID_PARAM,
               "mode 5");
  wait = {ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0, 0, 2, {}};
  EXPECT_FAILS(aclrtCntNotifyWaitWithTimeout(count, stream, &wait), ACL_ERROR_INVALID_PARAM,
               "isClear");
  EXPECT_OK(aclrtCntNotifyGetId(count, &id));
  EXPECT_FAILS(aclrtCntNotifyGetId(notify, &id), ACL_ERROR_RT_INVALID_HANDLE, "null");
  EXPECT_OK(aclrtCntNotifyDestroy(count));
  EXPECT_FAILS(aclrtCntNotifyReset(count, stream), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  EXPECT_FAILS(aclrtCntNotifyDestroy(nullptr), ACL_ERROR_RT_INVALID_HANDLE, "null");
}

TEST(IpcNotifyDeathTest, AnotherProcessRecordsWhatThisOneAwaits) {
  SecondProcess peer([](Channel& channel) {
    aclrtNotify notify = nullptr;
    aclrtStream stream = nullptr;
    ASSERT_OK(aclrtCreateStream(&stream));
    int32_t pid = 0;
    ASSERT_OK(aclrtDeviceGetBareTgid(&pid));
    Key key = channel.receive<Key>();
    EXPECT_FAILS(aclrtNotifyImportByKey(&notify, key.data(), 0), ACL_ERROR_RT_NO_PERMISSION,
                 "aclrtNotifySetImportPid()");
    channel.send(pid);
    channel.receive<char>();
    ASSERT_OK(
        aclrtNotifyImportByKey(&notify, key.data(), ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    EXPECT_FAILS(aclrtNotifyGetExportKey(notify, key.data(), kKeySize, 0), ACL_ERROR_INVALID_PARAM,
                 "another process");
    EXPECT_OK(aclrtRecordNotify(notify, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_OK(aclrtDestroyNotify(notify));
  });
  startRuntime();
  aclrtNotify notify = nullptr;
  aclrtStream stream = nullptr;
  ASSERT_OK(aclrtCreateStream(&stream));
  ASSERT_OK(aclrtCreateNotify(&notify, 0));
  Key key = {};
  Key again = {};
  ASSERT_OK(aclrtNotifyGetExportKey(notify, key.data(), kKeySize, 0));
  ASSERT_OK(aclrtNotifyGetExportKey(notify, again.data(), kKeySize, 0));
  EXPECT_STREQ(key.data(), again.data());
  ASSERT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
  peer.channel().send(key);
  int32_t pid = peer.channel().receive<int32_t>();
  ASSERT_OK(aclrtNotifySetImportPid(notify, &pid, 1));
  peer.channel().send('.');
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
  EXPECT_OK(aclrtDestroyNotify(notify));
  EXPECT_OK(aclrtDestroyStream(stream));
}
