// Which device the calling thread works on, and bringing the runtime up.
//
// A thread has a current device (what PyTorch asks for) and an AscendCL context (what CANN was
// told). They are kept apart: a guard that restores a device which this process has never used
// must not create a context there. setDevice() and exchangeDevice() bring both in line;
// ensureContext() makes CANN follow for one call and is what every path to AscendCL goes through.
// All of them cost a few nanoseconds where nothing changes.
#pragma once

#include <c10/core/Device.h>
#include <c10/macros/Macros.h>

#include <cstdint>

namespace torch_npu {

using c10::DeviceIndex;

// Devices that one process can address: tables are indexed by device and never grow.
inline constexpr DeviceIndex kMaxDevices = 64;

// Number of devices that this process may use; 0 where there is no CANN or it reports an error.
// Never throws and never initialises a device.
C10_EXPORT DeviceIndex deviceCount() noexcept;

// As deviceCount(), but throws where there is none, saying why.
C10_EXPORT DeviceIndex deviceCountEnsureNonZero();

// Initialises AscendCL once per process; thread-safe. Creates no context on any device. Throws
// where no CANN or no device is available, and in a child forked after the parent's first use.
C10_EXPORT void lazyInit();
C10_EXPORT bool isInitialized() noexcept;

// True in a process that was forked from one which had initialised the runtime.
C10_EXPORT bool isInBadFork() noexcept;

// Called at interpreter exit: waits for the devices that were used. Frees that come later are
// still accepted, so the runtime itself is left to end with the process.
C10_EXPORT void shutdown() noexcept;

C10_EXPORT DeviceIndex currentDevice() noexcept;

// Makes `device` current and gives the calling thread a context on it.
C10_EXPORT void setDevice(DeviceIndex device);
C10_EXPORT DeviceIndex exchangeDevice(DeviceIndex device);

// As above, but a device that this process has not used yet gets no context. A negative index
// changes nothing.
C10_EXPORT void maybeSetDevice(DeviceIndex device);
C10_EXPORT DeviceIndex maybeExchangeDevice(DeviceIndex device);

// As maybeSetDevice(), for destructors: an error is dropped, and the next use reports it.
C10_EXPORT void uncheckedSetDevice(DeviceIndex device) noexcept;

// Points the calling thread's AscendCL context at `device` (-1: the current device) without
// changing the current device.
C10_EXPORT void ensureContext(DeviceIndex device = -1);

// Gives the thread a context on its current device if it has none at all; for calls that take a
// handle and do not care about the device.
C10_EXPORT void ensureAnyContext();

// Whether this process has a context on `device`.
C10_EXPORT bool hasContext(DeviceIndex device) noexcept;

// Throws unless 0 <= device < deviceCount().
C10_EXPORT void checkDeviceIndex(DeviceIndex device);

// Waits for all work on `device` (-1: the current one).
C10_EXPORT void synchronizeDevice(DeviceIndex device = -1);

// Limits the time of every operator of the process from now on; 0 for the longest limit.
C10_EXPORT void setOperatorTimeout(uint32_t milliseconds);

C10_EXPORT bool canAccessPeer(DeviceIndex device, DeviceIndex peer);

}  // namespace torch_npu
