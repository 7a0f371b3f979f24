"""The caching allocator: statistics, limits and its cache. Sizes are in bytes."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from torch_npu import _C
from torch_npu.npu._utils import _get_device_index
from torch_npu.npu.devices import Device, device
from torch_npu.npu.lazy import _lazy_init, is_initialized
from torch_npu.npu.memory_history import (
    _dump_snapshot,
    _record_memory_history,
    _snapshot,
    memory_snapshot,
)
from torch_npu.npu.memory_pool import (
    MemPool,
    NPUPluggableAllocator,
    change_current_allocator,
    use_mem_pool,
)
from torch_npu.npu.memory_summary import format_memory_summary

__all__ = [
    "MemPool",
    "NPUPluggableAllocator",
    "_dump_snapshot",
    "_record_memory_history",
    "_set_allocator_settings",
    "_snapshot",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "change_current_allocator",
    "empty_cache",
    "empty_virt_addr_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_empty_cache",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "use_mem_pool",
]


def caching_allocator_alloc(size: int, device: Device = None, stream: Any = None) -> int:
    """Allocates `size` bytes for `stream`, the current one by default; returns the address.

    Give it back with `caching_allocator_delete`. Raises `torch.OutOfMemoryError`, and `TypeError`
    for a stream that is neither a `torch.npu.Stream` nor an integer `aclrtStream`.
    """
    from torch_npu.npu.streams import current_stream

    _lazy_init()
    index = _get_device_index(device, optional=True)
    if stream is None:
        stream = current_stream(index)
    if not isinstance(stream, int):
        if not hasattr(stream, "npu_stream"):
            raise TypeError(
                "stream must be a torch.npu.Stream or an aclrtStream as an integer, "
                f"but got: {type(stream).__name__}"
            )
        stream = stream.npu_stream
    with _on(index):
        return _C._npu_npuCachingAllocator_raw_alloc(size, stream)


def caching_allocator_delete(mem_ptr: int) -> None:
    """Gives back what `caching_allocator_alloc` allocated."""
    _C._npu_npuCachingAllocator_raw_delete(mem_ptr)


def set_per_process_memory_fraction(fraction: float, device: Device = None) -> None:
    """Limits this process to `fraction` of a device's memory, between 0 and 1.

    An allocation beyond it raises `torch.OutOfMemoryError`. Raises `TypeError` for another type
    and `ValueError` for a number outside of that range.
    """
    if not isinstance(fraction, float):
        raise TypeError(f"Invalid type for fraction argument, must be `float`: {fraction!r}")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    _lazy_init()
    _C._npu_setMemoryFraction(fraction, _get_device_index(device, optional=True))


def get_per_process_memory_fraction(device: Device = None) -> float:
    """The limit that `set_per_process_memory_fraction` set; 1.0 where there is none."""
    _lazy_init()
    return _C._npu_getMemoryFraction(_get_device_index(device, optional=True))


def empty_cache() -> None:
    """Gives cached memory that no tensor uses back to the device, for other processes to use.

    Waits for the current device, and raises the error of work that failed there. Does nothing
    before the backend is initialised.
    """
    if is_initialized():
        _C._npu_synchronize()
        _C._npu_emptyCache()


def empty_virt_addr_cache() -> None:
    """Gives cached memory back, with the addresses reserved for it.

    The allocator gives addresses back together with their memory: the same as `empty_cache()`.
    """
    empty_cache()


def mem_get_info(device: Device = None) -> tuple[int, int]:
    """(free, total) memory of a device, all processes counted."""
    _lazy_init()
    return _C._npu_getMemInfo(_get_device_index(device, optional=True))


def _set_allocator_settings(env: str) -> None:
    """Sets what `PYTORCH_NPU_ALLOC_CONF` sets, in its form "key:value,key:value".

    Raises `ValueError` or `RuntimeError` that names a wrong key or value.
    """
    _C._npu_setAllocatorSettings(env)


def get_allocator_backend() -> str:
    """The name of the allocator in use."""
    return _C._npu_getAllocatorBackend()


def memory_stats_as_nested_dict(device: Device = None) -> dict[str, Any]:
    """`memory_stats` before it is flattened; empty before the backend is initialised."""
    if not is_initialized():
        return {}
    return _C._npu_memoryStats(_get_device_index(device, optional=True))


def memory_stats(device: Device = None) -> OrderedDict[str, int]:
    """The allocator's statistics under the keys of `torch.cuda.memory_stats`, sorted.

    Such as "allocated_bytes.all.peak" and "num_ooms". Empty before the backend is initialised.
    """
    return OrderedDict(sorted(_flatten("", memory_stats_as_nested_dict(device))))


def _flatten(prefix: str, value: Any) -> list[tuple[str, int]]:
    if not isinstance(value, dict):
        return [(prefix, value)]
    dot = "." if prefix else ""
    return [pair for key, inner in value.items() for pair in _flatten(f"{prefix}{dot}{key}", inner)]


def memory_summary(device: Device = None, abbreviated: bool = False) -> str:
    """The statistics as a table; `abbreviated` leaves out the two pools' rows."""
    _lazy_init()
    index = _get_device_index(device, optional=True)
    return format_memory_summary(memory_stats(index), index, abbreviated)


def memory_allocated(device: Device = None) -> int:
    """The bytes that tensors on a device have now."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device: Device = None) -> int:
    """The most bytes that tensors had at once since `reset_peak_memory_stats`."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device: Device = None) -> int:
    """The bytes that the allocator holds now, cached ones with them."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device: Device = None) -> int:
    """The most bytes that the allocator held at once since `reset_peak_memory_stats`."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


def memory_cached(device: Device = None) -> int:
    """The older name of `memory_reserved`."""
    return memory_reserved(device)


def max_memory_cached(device: Device = None) -> int:
    """The older name of `max_memory_reserved`."""
    return max_memory_reserved(device)


def reset_peak_memory_stats(device: Device = None) -> None:
    """Sets every peak to the value of now. Does nothing before initialisation."""
    if is_initialized():
        _C._npu_resetPeakMemoryStats(_get_device_index(device, optional=True))


def reset_accumulated_memory_stats(device: Device = None) -> None:
    """Sets the counts of allocations and frees to zero. Does nothing before initialisation."""
    if is_initialized():
        _C._npu_resetAccumulatedMemoryStats(_get_device_index(device, optional=True))


def reset_max_memory_allocated(device: Device = None) -> None:
    """The older name of `reset_peak_memory_stats`, which resets every peak."""
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: Device = None) -> None:
    """The older name of `reset_peak_memory_stats`, which resets every peak."""
    reset_peak_memory_stats(device)


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    """`host_memory_stats` before it is flattened; empty before initialisation."""
    return _C._npu_hostMemoryStats() if is_initialized() else {}


def host_memory_stats() -> OrderedDict[str, int]:
    """The statistics of the pinned host memory under the keys of `torch.cuda`'s."""
    return OrderedDict(sorted(_flatten("", host_memory_stats_as_nested_dict())))


def host_empty_cache() -> None:
    """Gives cached pinned host memory back to the system. Does nothing before initialisation."""
    if is_initialized():
        _C._npu_hostEmptyCache()


def reset_peak_host_memory_stats() -> None:
    """Sets every peak of the pinned host memory to the value of now."""
    if is_initialized():
        _C._npu_resetPeakHostMemoryStats()


def reset_accumulated_host_memory_stats() -> None:
    """Sets the counts of the pinned host memory to zero."""
    if is_initialized():
        _C._npu_resetAccumulatedHostMemoryStats()


def _on(index: int) -> device:
    return device(index)
