// Guards for code that knows it works with an NPU; without virtual calls. Indices are of devices.
#pragma once

#include <c10/core/impl/InlineDeviceGuard.h>
#include <c10/core/impl/InlineStreamGuard.h>

#include "torch_npu/csrc/core/npu_guard_impl.h"
#include "torch_npu/csrc/core/npu_stream.h"

namespace torch_npu {

using NPUGuard = c10::impl::InlineDeviceGuard<NPUGuardImpl>;
using OptionalNPUGuard = c10::impl::InlineOptionalDeviceGuard<NPUGuardImpl>;
using NPUStreamGuard = c10::impl::InlineStreamGuard<NPUGuardImpl>;
using OptionalNPUStreamGuard = c10::impl::InlineOptionalStreamGuard<NPUGuardImpl>;

}  // namespace torch_npu
