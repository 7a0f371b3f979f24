"""The channel shuffle of two halves of a feature map."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn


def indexselect_full_implementation_forward(
    x1: torch.Tensor, x2: torch.Tensor, fp_index: torch.Tensor
) -> torch.Tensor:
    """The channels `fp_index` of both inputs together."""
    return torch.cat([x1, x2], 1).index_select(1, fp_index)


def indexselect_half_implementation_forward(
    x1: torch.Tensor, x2: torch.Tensor, fp_index1: torch.Tensor, fp_index2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The channels `fp_index1`, and those of `fp_index2`, of both inputs together."""
    both = torch.cat([x1, x2], 1)
    return both.index_select(1, fp_index1), both.index_select(1, fp_index2)


class IndexSelectFullImplementation(torch.autograd.Function):
    """`indexselect_full_implementation_forward`, whose backward selects as well.

    `bp_index1` and `bp_index2` say where the channels of the first and second input went.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x1: torch.Tensor,
        x2: torch.Tensor,
        fp_index: torch.Tensor,
        bp_index1: torch.Tensor,
        bp_index2: torch.Tensor,
    ) -> torch.Tensor:
        ctx.save_for_backward(bp_index1, bp_index2)
        return indexselect_full_implementation_forward(x1, x2, fp_index)

    @staticmethod
    def backward(ctx: Any, grad_output: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        first, second = ctx.saved_tensors
        return grad_output.index_select(1, first), grad_output.index_select(1, second), *3 * [None]


class IndexSelectHalfImplementation(torch.autograd.Function):
    """`indexselect_half_implementation_forward`, whose backward selects as well."""

    @staticmethod
    def forward(
        ctx: Any,
        x1: torch.Tensor,
        x2: torch.Tensor,
        fp_index1: torch.Tensor,
        fp_index2: torch.Tensor,
        bp_index1: torch.Tensor,
        bp_index2: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.save_for_backward(bp_index1, bp_index2)
        return indexselect_half_implementation_forward(x1, x2, fp_index1, fp_index2)

    @staticmethod
    def backward(
        ctx: Any, grad_output1: torch.Tensor, grad_output2: torch.Tensor
    ) -> tuple[torch.Tensor | None, ...]:
        first, second = ctx.saved_tensors
        gradient = torch.cat([grad_output1, grad_output2], 1)
        return gradient.index_select(1, first), gradient.index_select(1, second), *4 * [None]


class ChannelShuffle(nn.Module):
    """Interleaves the channels of two inputs of equal shape.

    Args:
        in_channels: the channels of both inputs together.
        groups: 2, the number of inputs; `ValueError` for another.
        split_shuffle: whether the result is split into two halves again.
    """

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        if groups != 2:
            raise ValueError(f"groups must be 2, the number of inputs, but is {groups}")
        if in_channels % 2:
            raise ValueError(f"in_channels must be even, but is {in_channels}")
        self.split_shuffle = split_shuffle
        self.group_len = in_channels // 2
        self.out_channels = torch.arange(in_channels).view(2, -1).t().flatten()
        self.fp_index = self.out_channels
        self.fp_index1, self.fp_index2 = self.out_channels.chunk(2)
        self.bp_index1 = torch.arange(0, in_channels, 2)
        self.bp_index2 = torch.arange(1, in_channels, 2)
        self.checked = False

    def check_self(self, x: torch.Tensor) -> None:
        """Moves the indices to the device of `x`."""
        for name in ("fp_index", "fp_index1", "fp_index2", "bp_index1", "bp_index2"):
            setattr(self, name, getattr(self, name).to(x.device))
        self.checked = True

    def forward(
        self, x1: torch.Tensor, x2: torch.Tensor
    ) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        if not self.checked or self.bp_index1.device != x1.device:
            self.check_self(x1)
        back = (self.bp_index1, self.bp_index2)
        if self.split_shuffle:
            return IndexSelectHalfImplementation.apply(
                x1, x2, self.fp_index1, self.fp_index2, *back
            )
        return IndexSelectFullImplementation.apply(x1, x2, self.fp_index, *back)
