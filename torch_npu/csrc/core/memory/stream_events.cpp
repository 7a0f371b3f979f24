// Memory that streams other than its own use.
#include <c10/util/Exception.h>

#include "torch_npu/csrc/acl/check.h"
#include "torch_npu/csrc/acl/runtime_api.h"
#include "torch_npu/csrc/core/memory/device_caching_allocator.h"
#include "torch_npu/csrc/core/npu_functions.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

namespace {

// For waiting on the host, and for asking how far the stream is.
constexpr uint32_t kEventFlags = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS;

}  // namespace

void DeviceCachingAllocator::recordStream(Block* block, c10::Stream stream) {
  Lock lock(lock_);
  if (stream.device_index() == device_ && stream.id() == block->stream) {
    return;
  }
  if (block->stream_uses == nullptr) {
    block->stream_uses = std::make_unique<std::vector<c10::Stream>>();
  }
  for (const c10::Stream& used : *block->stream_uses) {
    if (used == stream) {
      return;
    }
  }
  block->stream_uses->push_back(stream);
}

// Makes the block wait for the streams that use it. The lock is open while events are recorded:
// a stream whose queue is full accepts one only when it has got on.
void DeviceCachingAllocator::awaitStreams(Lock& lock, Block* block) {
  if (isCapturing()) {
    block->pending_events = 1;
    deferred_until_capture_ends_.push_back(block);
    return;
  }
  const std::unique_ptr<std::vector<c10::Stream>> streams = std::move(block->stream_uses);
  block->pending_events = static_cast<int32_t>(streams->size());
  std::vector<acl::UniqueEvent> events;
  while (events.size() < streams->size() && !spare_events_.empty()) {
    events.push_back(std::move(spare_events_.back()));
    spare_events_.pop_back();
  }
  lock.unlock();
  for (size_t i = 0; i < streams->size(); ++i) {
    const aclrtStream stream = NPUStream(NPUStream::UNCHECKED, (*streams)[i]).stream();
    if (i == events.size()) {
      events.push_back(acl::createEvent(kEventFlags));
    }
    NPU_CHECK(acl::api().aclrtRecordEvent(events[i].get(), stream));
  }
  lock.lock();
  for (size_t i = 0; i < streams->size(); ++i) {
    pending_events_[(*streams)[i].id()].push_back({std::move(events[i]), block});
  }
  pending_event_count_ += streams->size();
  updateFastPath();
}

void DeviceCachingAllocator::eventPassed(PendingEvent& pending) {
  if (pending.event != nullptr) {
    spare_events_.push_back(std::move(pending.event));
  }
  --pending_event_count_;
  if (--pending.block->pending_events == 0) {
    makeAvailable(pending.block);
  }
}

void DeviceCachingAllocator::processEvents() {
  if (pending_event_count_ == 0) {
    return;
  }
  ensureContext(device_);
  for (auto& [stream, events] : pending_events_) {
    while (!events.empty()) {
      aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
      const aclError code = acl::api().aclrtQueryEventStatus(events.front().event.get(), &status);
      if (code == ACL_SUCCESS && status != ACL_EVENT_RECORDED_STATUS_COMPLETE) {
        break;
      }
      // A stream that has failed runs nothing more, so its events count as passed; its error is
      // reported by whoever synchronises with it, and its event is not used again.
      if (code != ACL_SUCCESS) {
        events.front().event.reset();
      }
      eventPassed(events.front());
      events.pop_front();
    }
  }
  updateFastPath();
}

void DeviceCachingAllocator::waitForEvents(Lock& lock) {
  if (pending_event_count_ == 0 || isCapturing()) {
    return;
  }
  ensureContext(device_);
  auto waiting = std::move(pending_events_);
  pending_events_.clear();
  ++stats_.num_sync_all_streams;
  lock.unlock();
  for (auto& [stream, events] : waiting) {
    for (PendingEvent& pending : events) {
      if (acl::api().aclrtSynchronizeEvent(pending.event.get()) != ACL_SUCCESS) {
        pending.event.reset();
      }
    }
  }
  lock.lock();
  for (auto& [stream, events] : waiting) {
    for (PendingEvent& pending : events) {
      eventPassed(pending);
    }
  }
  updateFastPath();
}

}  // namespace torch_npu
