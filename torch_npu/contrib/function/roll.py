"""Cyclic shifts of feature maps."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int]) -> torch.Tensor:
    """`torch.roll` of a tensor (N, H, W, C) along two dimensions.

    Raises `ValueError` for a tensor that is not 4-D and for other than two shifts or dimensions.
    """
    if x.dim() != 4:
        raise ValueError(f"x must have 4 dimensions, but has {x.dim()}")
    if len(shifts) != 2 or len(dims) != 2:
        raise ValueError(f"shifts and dims must have 2 values each, but are {shifts} and {dims}")
    return torch.roll(x, tuple(shifts), tuple(dims))
