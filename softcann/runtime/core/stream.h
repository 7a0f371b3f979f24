// Stream: a bounded ring of tasks and one worker thread, started at its first task.
//
// Any number of threads may enqueue. They never block unless the ring is full, and make a system
// call only if the worker sleeps. Tasks run in the order in which enqueue() accepted them.
//
// Streams are recycled and never unmapped, so that isAlive() can tell a stale handle from a live
// one without a table.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/core/task.h"
#include "runtime/core/wait.h"

namespace softcann {

class Context;
class Device;

// What a task left behind when it failed.
struct StreamFailure {
  aclError code = ACL_SUCCESS;
  std::string message;
};

class Stream {
 public:
  static Stream* open(Context* context, uint32_t priority, uint32_t flags);
  static Stream* fromHandle(aclrtStream handle) noexcept { return static_cast<Stream*>(handle); }
  aclrtStream toHandle() noexcept { return this; }

  bool isAlive() const noexcept { return magic_.load(std::memory_order_relaxed) == kMagic; }

  // See task.h.
  aclError enqueue(const TaskType* type, void* payload) noexcept;

  // Waits for all tasks enqueued so far. The code is ACL_ERROR_RT_STREAM_SYNC_TIMEOUT when the
  // deadline passes first, else that of the first failure since the last report.
  aclError synchronize(Deadline deadline) noexcept;
  // The first half of synchronize(): leaves failures for takeFailure().
  aclError awaitTasks(Deadline deadline) noexcept;
  // Never false to somebody who heard from the last task that it has run (TaskType::announce): the
  // worker is about to count it, and the call waits for that.
  bool isIdle() noexcept;
  // Hands over the failure that has not been reported yet.
  StreamFailure takeFailure() noexcept;

  // Drops the tasks that have not started and waits for the one that runs. Ends the error state.
  void abort() noexcept;
  // The stream is being aborted or closed: a running task that waits for others gives up.
  bool isAborting() const noexcept { return (flags_.load() & (kAborting | kClosing)) != 0; }

  void setStopOnFailure(bool stop) noexcept;
  bool stopsOnFailure() const noexcept { return (flags_.load() & kStopOnFailure) != 0; }

  // Ends the worker, after running (or dropping) what is left, and recycles the object.
  aclError close(bool drop_tasks) noexcept;
  // For the end of the process: asks the worker to stop after its current task, and waits until
  // it has or the deadline passes.
  void requestStop() noexcept;
  bool waitStopped(Deadline deadline) noexcept;

  Context* context() const noexcept { return context_; }
  Device* device() const noexcept { return device_; }
  int32_t id() const noexcept { return id_; }
  uint32_t priority() const noexcept { return priority_; }
  uint32_t creationFlags() const noexcept { return creation_flags_; }

  // Attributes that only the API reads and writes.
  struct Attributes {
    std::atomic<uint32_t> custom_tag{0};
    std::atomic<uint32_t> cache_op_info{0};
    std::atomic<uint32_t> core_limit[2] = {0, 0};  // 0: the device's
  };
  Attributes attributes;

  // The stream whose task the calling thread runs, and the task's name; else nullptr.
  static Stream* running() noexcept;
  static const char* runningTask() noexcept;

 private:
  static constexpr uint32_t kMagic = 0x5354524d;
  static constexpr uint64_t kCapacity = 2048;

  // A slot at position p may be filled when turn == p, and run when turn == p + 1.
  struct Slot {
    std::atomic<uint64_t> turn;
    const TaskType* type;
    void* payload;
  };

  // Any of these sends enqueue() off its fast path.
  enum Flag : uint32_t {
    kNotStarted = 1,  // no worker yet
    kBlocking = 2,    // ASCEND_LAUNCH_BLOCKING
    kStopped = 4,     // a task failed in stop-on-failure mode
    kAborting = 8,
    kClosing = 16,
    kSlow = 31,
    kStopOnFailure = 32,  // not slow
  };

  Stream() noexcept;
  aclError enqueueSlow(const TaskType* type, void* payload) noexcept;
  aclError runInCaller(const TaskType* type, void* payload) noexcept;
  aclError startWorker() noexcept;
  aclError push(const TaskType* type, void* payload) noexcept;
  // Null, or why there is none.
  const char* waitForRoom(uint64_t position) noexcept;
  void wakeWorker() noexcept;

  static void* workerMain(void* stream) noexcept;
  void work() noexcept;
  bool waitForTask(Slot& slot, uint64_t position) noexcept;
  void runTask(const TaskType* type, void* payload) noexcept;
  aclError runLimited(const TaskType* type, void* payload) noexcept;
  aclError runTraced(const TaskType* type, void* payload) noexcept;
  void recordFailure(const char* task, aclError code) noexcept;
  void finished(uint64_t count) noexcept;
  // Without `interruptible`, only the deadline ends it before its time.
  WaitEnd waitCompleted(uint64_t count, Deadline deadline, bool interruptible = false) noexcept;

  // Read by every producer.
  std::atomic<uint32_t> magic_{0};
  std::atomic<uint32_t> flags_{0};
  Slot* ring_ = nullptr;
  Context* context_ = nullptr;
  Device* device_ = nullptr;
  int32_t id_ = 0;
  uint32_t priority_ = 0;
  uint32_t creation_flags_ = 0;
  int trace_file_ = -1;  // see Platform

  // Written by every producer.
  alignas(64) std::atomic<uint64_t> tail_{0};

  // Written by the worker.
  alignas(64) std::atomic<uint64_t> completed_{0};  // tasks finished or dropped
  std::atomic<uint64_t> announcing_{0};             // counted next: it tells others of its end
  std::atomic<uint32_t> stopped_{0};                // futex: 1 when the worker has ended

  // Read for every task and seldom written, so not beside what the worker writes for every task.
  alignas(64) std::atomic<uint32_t> asleep_{0};  // futex: 1 while the worker sleeps
  std::atomic<bool> stop_requested_{false};

  // Waiting for completion: how many threads do, the lowest count that one of them sleeps for, and
  // a futex that changes whenever it has been reached.
  alignas(64) std::atomic<uint32_t> waiting_{0};
  std::atomic<uint64_t> awaited_{UINT64_MAX};
  std::atomic<uint32_t> reached_{0};

  std::mutex mutex_;  // starting, stopping, failure_
  StreamFailure failure_;
  pthread_t worker_{};
  bool worker_exists_ = false;
  std::recursive_mutex inline_mutex_;  // serializes tasks in blocking mode
};

}  // namespace softcann
