#include <numeric>

#include "runtime_test.h"

TEST_F(StreamTest, RunsTasksInTheOrderOfOneProducer) {
  std::vector<int> order;
  for (int i = 0; i < 10000; ++i) {
    ASSERT_OK(enqueueTask(stream, [&order, i] {
      order.push_back(i);
      return ACL_SUCCESS;
    }));
  }
  ASSERT_OK(aclrtSynchronizeStream(stream));
  std::vector<int> expected(10000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST_F(StreamTest, KeepsEachProducersOrderWithManyProducers) {
  constexpr int kProducers = 4;
  constexpr int kTasks = 5000;
  std::vector<std::pair<int, int>> order;
  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kTasks; ++i) {
        enqueueTask(stream, [&order, producer, i] {
          order.emplace_back(producer, i);
          return ACL_SUCCESS;
        });
      }
    });
  }
  for (std::thread& producer : producers) producer.join();
  ASSERT_OK(aclrtSynchronizeStream(stream));
  ASSERT_EQ(order.size(), size_t{kProducers} * kTasks);
  std::vector<int> next(kProducers, 0);
  for (const auto& [producer, i] : order) EXPECT_EQ(i, next[producer]++);
}

TEST_F(StreamTest, SynchronizesFromManyThreads) {
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 125; ++i) {
        std::atomic<bool> ran{false};
        EXPECT_OK(enqueueTask(stream, [&] {
          ran = true;
          return ACL_SUCCESS;
        }));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        if (ran) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done.load(), 500);
}

TEST_F(StreamTest, ReleasesEveryPayloadExactlyOnce) {
  std::atomic<int> released{0};
  for (int i = 0; i < 100; ++i) {
    ASSERT_OK(enqueueTask(stream, [] { return ACL_SUCCESS; }, &released));
  }
  ASSERT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(released.load(), 100);
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_NE(enqueueTask(stream, [] { return ACL_SUCCESS; }, &released), ACL_SUCCESS);
  EXPECT_EQ(released.load(), 101);
  stream = nullptr;
}

TEST_F(StreamTest, SynchronizeTimesOutAndCanBeRepeated) {
  Gate gate;
  gate.holdUp(stream);
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
               "timeout");
  EXPECT_FAILS(aclrtSynchronizeStreamWithTimeout(stream, 0), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
               "timeout");
  gate.open();
  EXPECT_OK(aclrtSynchronizeStreamWithTimeout(stream, kPatienceMs));
}

TEST_F(StreamTest, QueryTellsWhetherWorkIsLeft) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  EXPECT_OK(aclrtStreamQuery(stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  Gate gate;
  gate.holdUp(stream);
  EXPECT_OK(aclrtStreamQuery(stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
  gate.open();
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtStreamQuery(stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
}

TEST_F(StreamTest, FailureSurfacesOnceWithTheOperatorsName) {
  ASSERT_OK(enqueueFailure(stream, "shapes [2] and [3] differ"));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_INTERNAL_ERROR,
               "testOperator failed: shapes [2] and [3] differ");
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamTest, FirstOfSeveralFailuresIsReported) {
  ASSERT_OK(enqueueFailure(stream, "first"));
  ASSERT_OK(enqueueFailure(stream, "second"));
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_INTERNAL_ERROR, "first");
}

TEST_F(StreamTest, GoesOnAfterAFailureByDefault) {
  bool ran = false;
  ASSERT_OK(enqueueFailure(stream, "bad"));
  ASSERT_OK(enqueueTask(stream, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_TRUE(ran);
}

TEST_F(StreamTest, StopOnFailureDropsWhatFollowsAndRefusesNewTasks) {
  ASSERT_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  Gate gate;
  gate.holdUp(stream);
  std::atomic<int> released{0};
  bool ran = false;
  ASSERT_OK(enqueueFailure(stream, "bad"));
  ASSERT_OK(enqueueTask(
      stream,
      [&] {
        ran = true;
        return ACL_SUCCESS;
      },
      &released));
  gate.open();
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_INTERNAL_ERROR, "bad");
  EXPECT_FALSE(ran);
  EXPECT_EQ(released.load(), 1);
  EXPECT_FAILS(enqueueTask(stream, [] { return ACL_SUCCESS; }), ACL_ERROR_INTERNAL_ERROR,
               "stopped at an earlier failure");
  EXPECT_OK(aclrtStreamAbort(stream));
  EXPECT_OK(enqueueTask(stream, [] { return ACL_SUCCESS; }));
  EXPECT_OK(aclrtSynchronizeStream(stream));
}

TEST_F(StreamTest, FailureLeavesOtherStreamsAlone) {
  aclrtStream other = nullptr;
  ASSERT_OK(aclrtCreateStream(&other));
  ASSERT_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
  ASSERT_OK(enqueueFailure(stream, "bad"));
  EXPECT_NE(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  bool ran = false;
  ASSERT_OK(enqueueTask(other, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  EXPECT_OK(aclrtSynchronizeStream(other));
  EXPECT_TRUE(ran);
  EXPECT_OK(aclrtDestroyStream(other));
}

TEST_F(StreamTest, AbortDropsWhatHasNotStarted) {
  holdUpUntilAborted(stream);
  std::atomic<int> released{0};
  std::atomic<int> ran{0};
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(enqueueTask(
        stream,
        [&] {
          ++ran;
          return ACL_SUCCESS;
        },
        &released));
  }
  EXPECT_OK(aclrtStreamAbort(stream));
  EXPECT_EQ(ran.load(), 0);
  EXPECT_EQ(released.load(), 10);
}

TEST_F(StreamTest, AbortEndsAWaitForAnEventThatNeverComes) {
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_OK(aclrtCreateStream(&other));
  ASSERT_OK(aclrtCreateEvent(&event));
  Gate gate;
  gate.holdUp(other);
  ASSERT_OK(aclrtRecordEvent(event, other));
  ASSERT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_OK(aclrtStreamAbort(stream));
  gate.open();
  EXPECT_OK(aclrtDestroyStream(other));
  EXPECT_OK(aclrtDestroyEvent(event));
}

TEST_F(StreamTest, DestroyRunsWhatIsLeftAndForceDropsIt) {
  std::atomic<int> ran{0};
  const auto count = [&] {
    ++ran;
    return ACL_SUCCESS;
  };
  for (int i = 0; i < 100; ++i) ASSERT_OK(enqueueTask(stream, count));
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_EQ(ran.load(), 100);

  ASSERT_OK(aclrtCreateStream(&stream));
  holdUpUntilAborted(stream);
  ran = 0;
  for (int i = 0; i < 100; ++i) ASSERT_OK(enqueueTask(stream, count));
  EXPECT_OK(aclrtDestroyStreamForce(stream));
  EXPECT_EQ(ran.load(), 0);
  stream = nullptr;
}

TEST_F(StreamTest, StaleHandleIsRefused) {
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_FAILS(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  EXPECT_FAILS(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "destroyed");
  stream = nullptr;
}

TEST_F(StreamTest, NullIsTheContextsDefaultStream) {
  bool ran = false;
  ASSERT_OK(enqueueTask(nullptr, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_TRUE(ran);
  aclrtStream found = nullptr;
  EXPECT_OK(aclrtCtxGetCurrentDefaultStream(&found));
  EXPECT_NE(found, nullptr);
}

TEST_F(StreamTest, WithoutADeviceTheThreadIsTold) {
  std::thread([] {
    EXPECT_FAILS(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
    aclrtStream created = nullptr;
    EXPECT_FAILS(aclrtCreateStream(&created), ACL_ERROR_RT_CONTEXT_NULL, "aclrtSetDevice");
  }).join();
}

TEST_F(StreamTest, KeepsPriorityAndFlags) {
  aclrtStream configured = nullptr;
  ASSERT_OK(aclrtCreateStreamWithConfig(&configured, 3, ACL_STREAM_FAST_LAUNCH));
  uint32_t priority = 0;
  uint32_t flags = 0;
  EXPECT_OK(aclrtStreamGetPriority(configured, &priority));
  EXPECT_OK(aclrtStreamGetFlags(configured, &flags));
  EXPECT_EQ(priority, 3u);
  EXPECT_EQ(flags, ACL_STREAM_FAST_LAUNCH);
  EXPECT_OK(aclrtDestroyStream(configured));
  EXPECT_FAILS(aclrtCreateStreamWithConfig(&configured, 8, 0), ACL_ERROR_INVALID_PARAM, "priority");
}

TEST_F(StreamTest, AttributesReadBack) {
  aclrtStreamAttrValue value = {};
  value.failureMode = ACL_STOP_ON_FAILURE;
  EXPECT_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  value = {};
  EXPECT_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
  EXPECT_EQ(value.failureMode, ACL_STOP_ON_FAILURE);
  EXPECT_FAILS(aclrtSetStreamFailureMode(stream, 7), ACL_ERROR_INVALID_PARAM, "7");
  EXPECT_FAILS(aclrtSetStreamOverflowSwitch(stream, 1), ACL_ERROR_API_NOT_SUPPORT, "overflow");
}

TEST_F(StreamTest, DeviceSynchronizeCoversAllStreamsAndTheirFailures) {
  aclrtStream other = nullptr;
  ASSERT_OK(aclrtCreateStream(&other));
  std::atomic<int> ran{0};
  for (aclrtStream target : {stream, other}) {
    ASSERT_OK(enqueueTask(target, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ++ran;
      return ACL_SUCCESS;
    }));
  }
  ASSERT_OK(enqueueFailure(other, "late"));
  EXPECT_FAILS(aclrtSynchronizeDevice(), ACL_ERROR_INTERNAL_ERROR, "late");
  EXPECT_EQ(ran.load(), 2);
  EXPECT_OK(aclrtSynchronizeDevice());
  Gate gate;
  gate.holdUp(other);
  EXPECT_FAILS(aclrtSynchronizeDeviceWithTimeout(10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "timeout");
  gate.open();
  EXPECT_OK(aclrtDestroyStream(other));
}

TEST_F(StreamTest, TaskCannotWaitForItsOwnStream) {
  aclError code = ACL_SUCCESS;
  ASSERT_OK(enqueueTask(stream, [&] {
    code = aclrtSynchronizeStream(stream);
    return ACL_SUCCESS;
  }));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(code, ACL_ERROR_RT_STREAM_CONTEXT);
}

TEST_F(StreamTest, FullRingHoldsTheProducerBackOnly) {
  Gate gate;
  gate.holdUp(stream);
  std::atomic<int> enqueued{0};
  std::atomic<int> ran{0};
  std::thread producer([&] {
    for (int i = 0; i < 5000; ++i) {
      EXPECT_OK(enqueueTask(stream, [&] {
        ++ran;
        return ACL_SUCCESS;
      }));
      ++enqueued;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_LT(enqueued.load(), 5000);
  gate.open();
  producer.join();
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(ran.load(), 5000);
}

TEST_F(StreamTest, RecycledStreamsStartClean) {
  for (int i = 0; i < 200; ++i) {
    aclrtStream fresh = nullptr;
    ASSERT_OK(aclrtCreateStream(&fresh));
    bool ran = false;
    ASSERT_OK(enqueueTask(fresh, [&] {
      ran = true;
      return i % 2 == 0 ? ACL_SUCCESS : ACL_ERROR_INTERNAL_ERROR;
    }));
    ASSERT_OK(aclrtDestroyStream(fresh));
    EXPECT_TRUE(ran);
  }
}

TEST_F(StreamTest, IsNotBeingCaptured) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  auto model = reinterpret_cast<aclmdlRI>(&status);
  EXPECT_OK(aclmdlRICaptureGetInfo(stream, &status, &model));
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(model, nullptr);
  EXPECT_FAILS(aclmdlRICaptureGetInfo(stream, nullptr, &model), ACL_ERROR_INVALID_PARAM, "status");
}
