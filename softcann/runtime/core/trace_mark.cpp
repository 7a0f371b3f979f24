#include "runtime/core/trace_mark.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/device.h"
#include "runtime/core/platform.h"

namespace softcann {
namespace {

// A range that has not ended. The stamp is copied: it may be destroyed before.
struct OpenRange {
  Stamp stamp;
  Clock::time_point begin;
};

struct OpenRanges {
  std::mutex mutex;
  std::map<uint32_t, OpenRange> ranges;
  uint32_t next_id = 1;
};

OpenRanges& openRanges() {
  static auto* ranges = new OpenRanges;
  return *ranges;
}

thread_local std::vector<OpenRange> pushed;

// As a line of stream_trace.cpp, with -1 for the device and the stream of what the host did.
void writeLine(const Stamp& stamp, int device, int stream, Clock::time_point begin,
               Clock::duration duration) noexcept {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  char line[256];
  const int length = std::snprintf(
      line, sizeof(line), "%s\t%d\t%d\t%lld\t%lld\t0\n", stamp.message.data(), device, stream,
      static_cast<long long>(duration_cast<microseconds>(begin.time_since_epoch()).count()),
      static_cast<long long>(duration_cast<microseconds>(duration).count()));
  [[maybe_unused]] const ssize_t written =
      write(platform()->trace_file, line, static_cast<size_t>(length));
}

void writeRange(const OpenRange& range) noexcept {
  writeLine(range.stamp, -1, -1, range.begin, Clock::now() - range.begin);
}

aclError runMark(void* payload) noexcept {
  const Stream* stream = Stream::running();
  writeLine(*static_cast<Stamp*>(payload), stream->device()->id(), stream->id(), Clock::now(), {});
  return ACL_SUCCESS;
}
void releaseMark(void* payload) noexcept { delete static_cast<Stamp*>(payload); }
constexpr TaskType kMarkTask = {"aclprofMarkEx", runMark, releaseMark};

}  // namespace

void Stamp::setMessage(const char* text, size_t size) noexcept {
  message = {};
  std::copy_n(text, std::min(size, kLongest), message.begin());
  // A line of the file is one mark, and its columns are separated by tabs.
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
}

aclError requireTrace(const char* function) noexcept {
  const Platform* settings = platform();
  if (settings != nullptr && settings->trace_file >= 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_PROF_NOT_RUN,
              std::string(function) +
                  ": nothing takes marks; set SOFTCANN_TRACE to the name of a file for them");
}

aclError markNow(const Stamp& stamp) {
  writeLine(stamp, -1, -1, Clock::now(), {});
  return ACL_SUCCESS;
}

aclError pushRange(const Stamp& stamp) {
  pushed.push_back({stamp, Clock::now()});
  return ACL_SUCCESS;
}

aclError popRange() {
  if (pushed.empty()) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclprofPop: the calling thread has pushed no range");
  }
  writeRange(pushed.back());
  pushed.pop_back();
  return ACL_SUCCESS;
}

aclError startRange(const Stamp& stamp, uint32_t* id) {
  std::lock_guard lock(openRanges().mutex);
  *id = openRanges().next_id++;
  openRanges().ranges[*id] = {stamp, Clock::now()};
  return ACL_SUCCESS;
}

aclError stopRange(uint32_t id) {
  std::lock_guard lock(openRanges().mutex);
  const auto found = openRanges().ranges.find(id);
  if (found == openRanges().ranges.end()) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclprofRangeStop: there is no open range " +
                                             std::to_string(id) + "; was it stopped before?");
  }
  writeRange(found->second);
  openRanges().ranges.erase(found);
  return ACL_SUCCESS;
}

aclError markInStream(const Stamp& stamp, Stream* stream) {
  return stream->enqueue(&kMarkTask, new Stamp(stamp));
}

}  // namespace softcann
