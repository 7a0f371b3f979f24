"""What the modules of `torch.npu` share."""

from __future__ import annotations

from typing import Any

import torch


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of `device`: an `npu` device, a string such as "npu:0", an integer or `None`.

    `None`, and a device without an index, mean the current device where `optional` is true.
    With `allow_cpu`, a CPU device gives -1. Raises `ValueError` for anything else.
    """
    if isinstance(device, bool):
        raise ValueError(f"Expected an npu device or its index, but got: {device}")
    if isinstance(device, int):
        return device
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if allow_cpu and device.type == "cpu":
            return -1
        if device.type != "npu":
            raise ValueError(f"Expected an npu device, but got: {device}")
        if device.index is not None:
            return device.index
    elif device is not None:
        raise ValueError(f"Expected an npu device or its index, but got: {device!r}")
    if not optional:
        raise ValueError(f"Expected an npu device with an index, but got: {device}")
    from torch_npu.npu.devices import current_device

    return current_device()


def _unavailable(what: str, instead: str) -> NotImplementedError:
    """The error of a function that this version does not have; `instead` says what to use."""
    return NotImplementedError(f"{what} is not available in this version of torch_npu. {instead}")
