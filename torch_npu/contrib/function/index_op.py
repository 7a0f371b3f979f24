"""Assignment under a mask."""

from __future__ import annotations

import torch


def npu_fast_condition_index_put(
    x: torch.Tensor, condition: torch.Tensor, value: float
) -> torch.Tensor:
    """A copy of `x` that has `value` where `condition`, a bool tensor, is true.

    Raises `TypeError` for a condition of another dtype.
    """
    if condition.dtype != torch.bool:
        raise TypeError(f"condition must be of torch.bool, but is of {condition.dtype}")
    return x.masked_fill(condition, value)
