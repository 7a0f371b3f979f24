// Host callbacks: functions that run in stream order, on the stream's worker (host functions) or
// on a thread of the program that subscribed and processes reports (callbacks).
#pragma once

#include <cstdint>

#include "acl/acl_rt.h"
#include "runtime/core/stream.h"

namespace softcann {

aclError launchHostFunction(Stream* stream, aclrtHostFunc function, void* args);

aclError subscribeReport(uint64_t thread, Stream* stream);
aclError unsubscribeReport(uint64_t thread, Stream* stream);
// For a stream that is being destroyed.
void forgetSubscription(const Stream* stream) noexcept;
// The stream goes on when the callback has run if `blocks`, else at once.
aclError launchCallback(Stream* stream, aclrtCallback callback, void* user_data, bool blocks);
// Runs the callbacks that wait for the calling thread, after waiting for the first of them.
aclError processReport(int32_t timeout_ms);

}  // namespace softcann
