"""Utilities of `torch_npu`: versions, error codes, saving in the background, counting."""

import importlib

from torch_npu.utils.affinity import reset_thread_affinity, set_thread_affinity
from torch_npu.utils.cann_version import get_cann_version
from torch_npu.utils.combine_tensors import (
    get_part_combined_tensor,
    is_combined_tensor_valid,
    npu_combine_tensors,
)

__all__ = [
    "FlopsCounter",
    "get_cann_version",
    "get_part_combined_tensor",
    "is_combined_tensor_valid",
    "npu_combine_tensors",
    "profiler",
    "reset_thread_affinity",
    "save_async",
    "set_thread_affinity",
]


# What costs time to import, or needs `torch_npu.npu`: it comes when it is first asked for.
_LATE = {"FlopsCounter": "flops_count", "profiler": "profiler", "save_async": "serialization"}


def __getattr__(name: str) -> object:
    if name in _LATE:
        module = importlib.import_module(f"torch_npu.utils.{_LATE[name]}")
        return module if name == _LATE[name] else getattr(module, name)
    raise AttributeError(
        f"module 'torch_npu.utils' has no attribute '{name}': this version of torch_npu does not "
        "have it. help(torch_npu.utils) lists what it has."
    )
