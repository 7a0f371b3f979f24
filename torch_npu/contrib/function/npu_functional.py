"""Dropout by a mask of bytes."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def dropout_with_byte_mask(
    input1: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    """`torch.nn.functional.dropout`: zeroes elements with probability `p` and scales the rest.

    Raises `ValueError` for a probability outside of 0 to 1, and for `inplace`, as on a card.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if inplace:
        raise ValueError("dropout_with_byte_mask() has no in-place form; leave inplace out")
    return F.dropout(input1, p, training)
