// How much memory the machine, or this process's control group, can still give.
#pragma once

#include <cstddef>

namespace softcann {

// Bytes available right now, as far as the kernel tells; SIZE_MAX where it does not.
size_t availableHostMemory() noexcept;

// Whether `size` more bytes of device memory can be promised, when `promised` bytes are in use
// by this process's devices. Pages are sparse, so what was promised but not yet touched is
// counted too. *available: what was found.
bool hostHasRoom(size_t size, size_t promised, size_t* available) noexcept;

}  // namespace softcann
