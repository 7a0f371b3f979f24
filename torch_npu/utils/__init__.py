"""Utilities of `torch_npu`: versions, error codes, saving in the background, counting."""

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
    "reset_thread_affinity",
    "save_async",
    "set_thread_affinity",
]


def __getattr__(name: str) -> object:
    """What costs time to import, or needs `torch_npu.npu`, comes when it is first asked for."""
    if name == "FlopsCounter":
        from torch_npu.utils.flops_count import FlopsCounter

        return FlopsCounter
    if name == "save_async":
        from torch_npu.utils.serialization import save_async

        return save_async
    raise AttributeError(
        f"module 'torch_npu.utils' has no attribute '{name}': this version of torch_npu does not "
        "have it. help(torch_npu.utils) lists what it has."
    )
