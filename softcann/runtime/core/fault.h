// The fault report: when host code follows a device pointer, the process says so before it dies
// as it would have died anyway.
#pragma once

namespace softcann {

// Puts handlers for SIGSEGV and SIGBUS in front of what is installed, and chains to it. Called
// again, it moves back to the front if somebody else (faulthandler, say) has come since.
void installFaultReport() noexcept;

// Puts back what was there, where nobody came since.
void removeFaultReport() noexcept;

}  // namespace softcann
