// Marks and ranges of the program in the file of SOFTCANN_TRACE; see acl_prof.h.
#pragma once

#include <array>
#include <cstdint>

#include "runtime/core/stream.h"

namespace softcann {

// A text that names a mark. Its object is CANN's stamp.
struct Stamp {
  static constexpr size_t kLongest = 127;
  std::array<char, kLongest + 1> message = {};

  void setMessage(const char* text, size_t size) noexcept;
};

// ACL_ERROR_PROF_NOT_RUN, with a text, where nobody takes marks.
aclError requireTrace(const char* function) noexcept;

aclError markNow(const Stamp& stamp);
aclError pushRange(const Stamp& stamp);
// Ends the calling thread's innermost range.
aclError popRange();
aclError startRange(const Stamp& stamp, uint32_t* id);
aclError stopRange(uint32_t id);
// A mark that the stream makes when it gets there.
aclError markInStream(const Stamp& stamp, Stream* stream);

}  // namespace softcann
