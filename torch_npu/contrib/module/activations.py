"""Activations that PyTorch has by now; each warns that its replacement is there."""

from __future__ import annotations

import warnings

import torch
from torch import nn


def _replaced(name: str) -> None:
    warnings.warn(
        f"torch_npu.contrib.module.{name} is deprecated: use torch.nn.{name}",
        FutureWarning,
        stacklevel=3,
    )


class Mish(nn.Module):
    """x · tanh(softplus(x)), element by element."""

    def __init__(self) -> None:
        super().__init__()
        _replaced("Mish")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.mish(x)


class SiLU(nn.Module):
    """x · sigmoid(x), element by element; also known as Swish."""

    def __init__(self) -> None:
        super().__init__()
        _replaced("SiLU")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(x)


Swish = SiLU
