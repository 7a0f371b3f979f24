"""Pools of memory of one's own, and allocators from a library."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from torch_npu import _C
from torch_npu.npu._utils import _get_device_index, _unavailable
from torch_npu.npu.devices import Device
from torch_npu.npu.memory_history import memory_snapshot


class MemPool(_C._MemPool):
    """A pool of memory that only allocations within `use_mem_pool` take from.

    What is freed there stays there, for the pool's next allocations. When the object ends, the
    free memory of the pool goes back to the device; what tensors still have follows at the first
    `empty_cache` after their end.

    Args:
        allocator: what `NPUPluggableAllocator.allocator()` returns: the pool's memory comes from
            its functions and goes back to them. `None` for the device's own memory.
        use_on_oom: `False`; that other allocations may take from the pool is refused.
        no_split: `False`; that the pool never splits a segment is refused.
    """

    def __init__(
        self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        if allocator is not None and not isinstance(allocator, _C._npu_NPUAllocator):
            raise TypeError(
                "MemPool: allocator must be what NPUPluggableAllocator.allocator() returns, "
                f"but got {type(allocator).__name__}"
            )
        for name, value in (("use_on_oom", use_on_oom), ("no_split", no_split)):
            if value:
                raise _unavailable(f"A pool with {name}=True", f"Leave the argument {name!r} out.")
        super().__init__(allocator)

    @property
    def id(self) -> tuple[int, int]:
        """The pair of numbers that names the pool, as in snapshots."""
        return super().id

    def use_count(self) -> int:
        """How many hold the pool where it was made: this object, and each use that lasts."""
        return super().use_count()

    def snapshot(self) -> list[dict[str, Any]]:
        """The segments of the pool on all devices, as `memory_snapshot` gives them."""
        return memory_snapshot(self.id)


@contextlib.contextmanager
def use_mem_pool(pool: MemPool, device: Device = None) -> Iterator[None]:
    """A context manager in which this thread's allocations on `device` come from `pool`.

    The device is the current one by default. Other threads, such as those of a backward pass,
    allocate as before. Within another pool's use, the inner one counts. Raises `RuntimeError`
    where allocations go to the same pool already, in this thread or another.
    """
    index = _get_device_index(device, optional=True)
    pool._begin(index)
    try:
        yield
    finally:
        pool._end(index)


class NPUPluggableAllocator:
    """An allocator whose two functions are in a shared library, for `MemPool` or all tensors.

    The functions have C linkage: `void *alloc(ssize_t size, int device, aclrtStream stream)`, with
    null for no memory, and `void free(void *ptr, ssize_t size, int device, aclrtStream stream)`.
    Raises `RuntimeError` that names the library or the function that cannot be found.

    Args:
        path_to_so_file: the library, as the dynamic loader finds it.
        alloc_fn_name: the function that allocates `size` bytes.
        free_fn_name: the function that takes them back.
    """

    def __init__(self, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> None:
        # Binds CANN, which such libraries are linked with and may not find by themselves.
        _C._npu_getDeviceCount()
        self._allocator = _C._npu_loadPluggableAllocator(
            os.fspath(path_to_so_file), alloc_fn_name, free_fn_name
        )

    def allocator(self) -> _C._npu_NPUAllocator:
        """What `MemPool` takes."""
        return self._allocator


def change_current_allocator(allocator: NPUPluggableAllocator) -> None:
    """Replaces the caching allocator by another, which is called for every tensor.

    Raises `RuntimeError` once the device is in use.
    """
    if not isinstance(allocator, NPUPluggableAllocator):
        raise TypeError(
            "change_current_allocator: expected an NPUPluggableAllocator, "
            f"but got {type(allocator).__name__}"
        )
    _C._npu_changeCurrentAllocator(allocator.allocator())
