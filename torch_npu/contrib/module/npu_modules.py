"""Dropout by a mask of bytes, as a module."""

from __future__ import annotations

import torch
from torch import nn

from torch_npu.contrib.function.npu_functional import dropout_with_byte_mask


class DropoutWithByteMask(nn.Module):
    """`dropout_with_byte_mask` with a fixed probability, in training only.

    Args:
        p: the probability of an element to be zeroed; `ValueError` outside of 0 to 1.
        inplace: refused when the module runs, as on a card.
        max_seed: accepted and ignored; the device's generator draws the masks.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 2**10 - 1) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input1: torch.Tensor) -> torch.Tensor:
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)
