"""Autocast's state for `npu`, and what `torch.autocast("npu")` asks of the device's module."""

from __future__ import annotations

import torch


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that `torch.autocast("npu")` accepts."""
    return [torch.float16, torch.bfloat16, torch.float32]


def is_autocast_enabled() -> bool:
    """Whether autocast is on for `npu` in this thread."""
    return torch.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    """Switches autocast for `npu` on or off in this thread."""
    torch.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> torch.dtype:
    """The dtype that autocast computes in on `npu`."""
    return torch.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Sets the dtype that autocast computes in on `npu`."""
    torch.set_autocast_dtype("npu", dtype)
