#include "runtime/core/callback.h"

#include <pthread.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace softcann {
namespace {

constexpr std::chrono::milliseconds kAbortCheck(20);

// One callback on its way from a stream to its thread.
struct Report {
  aclrtCallback callback;
  void* user_data;
  std::atomic<uint32_t> done{0};  // futex
};

// The reports for one thread.
struct ReportQueue {
  std::mutex mutex;
  std::deque<std::shared_ptr<Report>> reports;
  std::atomic<uint32_t> arrivals{0};  // futex

  void push(std::shared_ptr<Report> report) {
    {
      std::lock_guard lock(mutex);
      reports.push_back(std::move(report));
    }
    arrivals.fetch_add(1);
    futexWake(arrivals);
  }
  std::shared_ptr<Report> pop() {
    std::lock_guard lock(mutex);
    if (reports.empty()) return nullptr;
    auto report = std::move(reports.front());
    reports.pop_front();
    return report;
  }
};

struct Subscriptions {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<ReportQueue>> by_thread;
  using ByStream = std::map<const Stream*, std::pair<uint64_t, std::shared_ptr<ReportQueue>>>;
  ByStream by_stream;

  // With the thread's queue, if that was its last subscription.
  void erase(ByStream::iterator subscription) noexcept {
    const uint64_t thread = subscription->second.first;
    by_stream.erase(subscription);
    for (const auto& [stream, other] : by_stream) {
      if (other.first == thread) return;
    }
    by_thread.erase(thread);
  }
};

Subscriptions& subscriptions() {
  static auto* subscriptions = new Subscriptions;
  return *subscriptions;
}

struct CallbackTask {
  std::shared_ptr<ReportQueue> queue;
  std::shared_ptr<Report> report;
  bool blocks;
};

aclError runCallback(void* payload) noexcept {
  auto* task = static_cast<CallbackTask*>(payload);
  const Stream* stream = Stream::running();
  const aclError code = [&]() noexcept -> aclError {
    try {
      task->queue->push(task->report);
      return ACL_SUCCESS;
    } catch (...) {
      return ACL_ERROR_BAD_ALLOC;
    }
  }();
  while (code == ACL_SUCCESS && task->blocks && task->report->done.load() == 0) {
    if (stream->isAborting()) break;
    futexWait(task->report->done, 0, kAbortCheck);
  }
  return code;
}
void releaseCallback(void* payload) noexcept { delete static_cast<CallbackTask*>(payload); }
constexpr TaskType kCallbackTask = {"aclrtLaunchCallback", runCallback, releaseCallback};

struct HostFunctionTask {
  aclrtHostFunc function;
  void* args;
};
aclError runHostFunction(void* payload) noexcept {
  const auto* task = static_cast<HostFunctionTask*>(payload);
  task->function(task->args);
  return ACL_SUCCESS;
}
void releaseHostFunction(void* payload) noexcept { delete static_cast<HostFunctionTask*>(payload); }
constexpr TaskType kHostFunctionTask = {"aclrtLaunchHostFunc", runHostFunction,
                                        releaseHostFunction};

}  // namespace

aclError launchHostFunction(Stream* stream, aclrtHostFunc function, void* args) {
  if (function == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchHostFunc: the function is null");
  }
  return stream->enqueue(&kHostFunctionTask, new HostFunctionTask{function, args});
}

aclError subscribeReport(uint64_t thread, Stream* stream) {
  std::lock_guard lock(subscriptions().mutex);
  auto& by_stream = subscriptions().by_stream;
  const auto found = by_stream.find(stream);
  if (found != by_stream.end()) {
    return fail(ACL_ERROR_RT_STREAM_SUBSCRIBE,
                "aclrtSubscribeReport: the stream has a subscriber already");
  }
  auto& queue = subscriptions().by_thread[thread];
  if (!queue) queue = std::make_shared<ReportQueue>();
  by_stream[stream] = {thread, queue};
  return ACL_SUCCESS;
}

aclError unsubscribeReport(uint64_t thread, Stream* stream) {
  std::lock_guard lock(subscriptions().mutex);
  const auto found = subscriptions().by_stream.find(stream);
  if (found == subscriptions().by_stream.end() || found->second.first != thread) {
    return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                "aclrtUnSubscribeReport: the thread has not subscribed to the stream");
  }
  subscriptions().erase(found);
  return ACL_SUCCESS;
}

void forgetSubscription(const Stream* stream) noexcept {
  std::lock_guard lock(subscriptions().mutex);
  const auto found = subscriptions().by_stream.find(stream);
  if (found != subscriptions().by_stream.end()) subscriptions().erase(found);
}

aclError launchCallback(Stream* stream, aclrtCallback callback, void* user_data, bool blocks) {
  if (callback == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtLaunchCallback: the function is null");
  }
  std::shared_ptr<ReportQueue> queue;
  {
    std::lock_guard lock(subscriptions().mutex);
    const auto found = subscriptions().by_stream.find(stream);
    if (found == subscriptions().by_stream.end()) {
      return fail(ACL_ERROR_RT_STREAM_NO_CB_REG,
                  "aclrtLaunchCallback: no thread has subscribed to the stream; call "
                  "aclrtSubscribeReport() first");
    }
    queue = found->second.second;
  }
  auto report = std::make_shared<Report>();
  report->callback = callback;
  report->user_data = user_data;
  return stream->enqueue(&kCallbackTask,
                         new CallbackTask{std::move(queue), std::move(report), blocks});
}

aclError processReport(int32_t timeout_ms) {
  if (timeout_ms < -1) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtProcessReport: the timeout must be -1 or more");
  }
  std::shared_ptr<ReportQueue> queue;
  {
    std::lock_guard lock(subscriptions().mutex);
    const auto found = subscriptions().by_thread.find(static_cast<uint64_t>(pthread_self()));
    if (found == subscriptions().by_thread.end()) {
      return fail(ACL_ERROR_RT_THREAD_SUBSCRIBE,
                  "aclrtProcessReport: the calling thread has not subscribed to a stream");
    }
    queue = found->second;
  }
  const Deadline deadline = Deadline::afterMilliseconds(timeout_ms);
  std::shared_ptr<Report> report;
  for (;;) {
    const uint32_t seen = queue->arrivals.load();
    report = queue->pop();
    if (report) break;
    if (deadline.passed()) {
      return fail(ACL_ERROR_RT_REPORT_TIMEOUT,
                  "aclrtProcessReport: no callback came within the timeout");
    }
    futexWait(queue->arrivals, seen, deadline.left(std::chrono::seconds(3600)));
  }
  for (; report; report = queue->pop()) {
    report->callback(report->user_data);
    report->done.store(1);
    futexWake(report->done);
  }
  return ACL_SUCCESS;
}

}  // namespace softcann
