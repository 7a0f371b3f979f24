"""pyACL's runtime: devices, contexts, streams, events and memory."""

from __future__ import annotations

from ctypes import c_float, c_int32, c_size_t, c_uint32, c_void_p
from typing import NoReturn

from acl._binding import Out, absent, bind

get_version = bind("aclrtGetVersion", Out(c_int32), Out(c_int32), Out(c_int32))

set_device = bind("aclrtSetDevice", c_int32)
reset_device = bind("aclrtResetDevice", c_int32)
get_device = bind("aclrtGetDevice", Out(c_int32))
get_device_count = bind("aclrtGetDeviceCount", Out(c_uint32))
get_run_mode = bind("aclrtGetRunMode", Out(c_int32))
synchronize_device = bind("aclrtSynchronizeDevice")

create_context = bind("aclrtCreateContext", Out(c_void_p), c_int32)
destroy_context = bind("aclrtDestroyContext", c_void_p)
set_context = bind("aclrtSetCurrentContext", c_void_p)
get_context = bind("aclrtGetCurrentContext", Out(c_void_p))

create_stream = bind("aclrtCreateStream", Out(c_void_p))
destroy_stream = bind("aclrtDestroyStream", c_void_p)
synchronize_stream = bind("aclrtSynchronizeStream", c_void_p)
stream_wait_event = bind("aclrtStreamWaitEvent", c_void_p, c_void_p)

create_event = bind("aclrtCreateEvent", Out(c_void_p))
destroy_event = bind("aclrtDestroyEvent", c_void_p)
record_event = bind("aclrtRecordEvent", c_void_p, c_void_p)
synchronize_event = bind("aclrtSynchronizeEvent", c_void_p)
event_elapsed_time = bind("aclrtEventElapsedTime", Out(c_float), c_void_p, c_void_p)

malloc = bind("aclrtMalloc", Out(c_void_p), c_size_t, c_int32)
free = bind("aclrtFree", c_void_p)
malloc_host = bind("aclrtMallocHost", Out(c_void_p), c_size_t)
free_host = bind("aclrtFreeHost", c_void_p)
get_mem_info = bind("aclrtGetMemInfo", c_int32, Out(c_size_t), Out(c_size_t))
memset = bind("aclrtMemset", c_void_p, c_size_t, c_int32, c_size_t)
memset_async = bind("aclrtMemsetAsync", c_void_p, c_size_t, c_int32, c_size_t, c_void_p)
memcpy = bind("aclrtMemcpy", c_void_p, c_size_t, c_void_p, c_size_t, c_int32)
memcpy_async = bind("aclrtMemcpyAsync", c_void_p, c_size_t, c_void_p, c_size_t, c_int32, c_void_p)


def __getattr__(name: str) -> NoReturn:
    absent("acl.rt", name)
