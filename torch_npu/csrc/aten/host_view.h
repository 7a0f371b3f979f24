// Device memory as the host sees it, without a copy.
//
// softcann keeps the bytes of device memory at a host address and tells it by the extension
// softcannHostView. Another CANN has no such thing, and SOFTNPU_HOST_VIEW=0 switches it off: code
// that wants a view has a copying path too. Nothing here waits: the caller orders its accesses
// after the streams that write the memory.
#pragma once

namespace torch_npu {

bool hasHostView();

// Where the host finds the bytes at a device pointer; null without a host view.
void* hostView(const void* device_pointer);

}  // namespace torch_npu
