"""Determinism of a part of a model, and of the part of its backward that mirrors it."""

from __future__ import annotations

from typing import Any

import torch


class _Switch(torch.autograd.Function):
    """The identity. Sets determinism when it runs, and the opposite when its backward runs:
    backward passes the same places in the other direction."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, deterministic: bool) -> torch.Tensor:
        ctx.deterministic = deterministic
        torch.use_deterministic_algorithms(deterministic)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        torch.use_deterministic_algorithms(not ctx.deterministic)
        return gradients[0], None


def enable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Returns `tensor`; what is computed from it on is deterministic, in backward too."""
    return _Switch.apply(tensor, True)


def disable_deterministic_with_backward(tensor: torch.Tensor) -> torch.Tensor:
    """Returns `tensor`; ends what `enable_deterministic_with_backward` began, in backward too."""
    return _Switch.apply(tensor, False)
