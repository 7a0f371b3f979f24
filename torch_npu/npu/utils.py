"""The functions of `torch.npu` that programs also import from here."""

from torch_npu.npu._utils import _get_device_index
from torch_npu.npu.devices import (
    current_blas_handle,
    current_device,
    device,
    device_of,
    ipc_collect,
    is_bf16_supported,
    set_device,
    synchronize,
)
from torch_npu.npu.maintenance import (
    check_uce_in_memory,
    get_sync_debug_mode,
    set_op_timeout_ms,
    set_sync_debug_mode,
    stress_detect,
)
from torch_npu.npu.npu_config import finalize_dump, init_dump, set_dump
from torch_npu.npu.overflow import (
    clear_npu_overflow_flag,
    get_npu_overflow_flag,
    is_support_inf_nan,
    npu_check_overflow,
)
from torch_npu.npu.streams import (
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)
from torch_npu.utils.cann_version import get_cann_version

__all__ = [
    "StreamContext",
    "_get_device_index",
    "check_uce_in_memory",
    "clear_npu_overflow_flag",
    "current_blas_handle",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_of",
    "finalize_dump",
    "get_cann_version",
    "get_npu_overflow_flag",
    "get_sync_debug_mode",
    "init_dump",
    "ipc_collect",
    "is_bf16_supported",
    "is_support_inf_nan",
    "npu_check_overflow",
    "set_device",
    "set_dump",
    "set_op_timeout_ms",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
    "stress_detect",
    "synchronize",
]
