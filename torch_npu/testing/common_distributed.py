"""Helpers of tests with several processes."""

from __future__ import annotations

import functools
import unittest
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.distributed as dist


class TestSkip(NamedTuple):
    """Why a process of a test ends without having run it, and its exit code."""

    exit_code: int
    message: str


TestSkip.__test__ = False  # type: ignore[attr-defined]  # pytest would take it for a test class


_MULTI_NPU, _HCCL, _KNOWN = 75, 76, 77

TEST_SKIPS = {
    "multi-npu": TestSkip(_MULTI_NPU, "The test needs more npu devices than there are"),
    **{
        f"multi-npu-{count}": TestSkip(_MULTI_NPU, f"The test needs {count} npu devices")
        for count in range(1, 9)
    },
    "hccl": TestSkip(_HCCL, "The test needs the collective backend hccl"),
    "known_issues": TestSkip(_KNOWN, "The test is skipped for a known fault"),
}


def skipIfUnsupportMultiNPU(npu_number_needed: int) -> Callable[..., Any]:
    """Decorates a test method that needs so many devices."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(self: Any, *arguments: Any, **options: Any) -> Any:
            if _device_count() < npu_number_needed:
                raise unittest.SkipTest(f"The test needs {npu_number_needed} npu devices")
            return function(self, *arguments, **options)

        return wrapper

    return decorate


def init_pg(
    backend: str = "hccl", world_size: int = 1, rank: int = 0, file_name: str = "file://"
) -> None:
    """Makes the default process group over a file, and selects the device `rank` for hccl.

    `file_name` is a path, with or without "file://". Raises `RuntimeError` for a backend other
    than hccl and gloo, and where hccl has fewer devices than processes.
    """
    if backend not in ("hccl", "gloo"):
        raise RuntimeError(f"Backend {backend} not supported: use hccl or gloo")
    if backend == "hccl":
        if _device_count() < world_size:
            raise RuntimeError(f"{world_size} processes need as many npu devices")
        torch.npu.set_device(rank)  # type: ignore[attr-defined]
    dist.init_process_group(
        backend=backend,
        world_size=world_size,
        rank=rank,
        init_method=f"file://{file_name.removeprefix('file://')}",
    )


def with_comms(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a test method that runs in each process of a group.

    The object has `world_size`, `rank`, `file_name` and `destroy_pg()`, as PyTorch's classes for
    tests in several processes. The backend is hccl where there are devices enough, else gloo, and
    `device_type` says which device it serves. The group is destroyed however the test ends.
    """
    if func is None:
        raise RuntimeError("Test function is None.")

    @functools.wraps(func)
    def wrapper(self: Any, *arguments: Any, **options: Any) -> None:
        on_npu = _device_count() >= self.world_size
        self.device_type = "npu" if on_npu else "cpu"
        init_pg("hccl" if on_npu else "gloo", self.world_size, self.rank, self.file_name)
        try:
            torch.manual_seed(0)
            func(self, *arguments, **options)
        finally:
            self.destroy_pg()

    return wrapper


def _device_count() -> int:
    npu: Any = torch.npu  # type: ignore[attr-defined]
    return npu.device_count() if npu.is_available() else 0
