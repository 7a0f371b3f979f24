"""Pools of memory of one's own, and allocators from a library."""

from __future__ import annotations

from typing import Any, NoReturn

from torch_npu.npu._utils import _unavailable


class MemPool:
    """A pool of memory that only chosen allocations use."""

    def __new__(cls, allocator: Any = None) -> MemPool:
        raise _unavailable(
            "torch.npu.MemPool", "The caching allocator's own pool serves every allocation."
        )


def use_mem_pool(pool: MemPool, device: Any = None) -> NoReturn:
    """A context manager in which allocations come from `pool`."""
    raise _unavailable("torch.npu.use_mem_pool()", "Allocate from the default pool.")


class NPUPluggableAllocator:
    """An allocator whose two functions are in a shared library."""

    def __new__(cls, path_to_so_file: str, alloc_fn_name: str, free_fn_name: str) -> Any:
        raise _unavailable(
            "torch.npu.memory.NPUPluggableAllocator",
            "Tune the built-in allocator with PYTORCH_NPU_ALLOC_CONF.",
        )


def change_current_allocator(allocator: Any) -> NoReturn:
    """Replaces the caching allocator by another."""
    raise _unavailable(
        "torch.npu.change_current_allocator()",
        "Tune the built-in allocator with PYTORCH_NPU_ALLOC_CONF.",
    )
