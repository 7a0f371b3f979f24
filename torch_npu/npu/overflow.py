"""Overflow: values become inf or nan, as on every device since the Ascend 910B."""

from __future__ import annotations

import math
import warnings
from typing import NoReturn

import torch

_INSTEAD = (
    "An Ascend 910B and later keeps inf and nan instead of setting an overflow flag: "
    "look at values with torch.npu.utils.npu_check_overflow()."
)


def is_support_inf_nan() -> bool:
    """Whether overflow gives inf and nan, and not the largest number and a flag: always."""
    return True


def npu_check_overflow(grad: torch.Tensor | float) -> bool:
    """Whether a tensor or number holds inf or nan. Waits for the tensor's device."""
    if isinstance(grad, torch.Tensor):
        return not bool(torch.isfinite(grad).all())
    return not math.isfinite(grad)


def get_npu_overflow_flag() -> NoReturn:
    """The flag of devices that saturate, which a 910B does not have: raises `RuntimeError`."""
    raise RuntimeError(f"There is no overflow flag to read. {_INSTEAD}")


def clear_npu_overflow_flag() -> None:
    """The flag of devices that saturate, which a 910B does not have: warns that it has none."""
    warnings.warn(f"There is no overflow flag to clear. {_INSTEAD}", stacklevel=2)
