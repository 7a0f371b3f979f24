"""Stochastic depth."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn

from torch_npu.contrib.module._pregenerated import MaskStore


class NpuDropPath(nn.Module):
    """Zeroes whole samples with a probability, and scales the others; in training only.

    Args:
        drop_prob: the probability, at least 0 and below 1; `None` is 0.
    """

    _masks: ClassVar[MaskStore] = MaskStore()

    def __init__(self, drop_prob: float | None = None) -> None:
        super().__init__()
        self.drop_prob = 0.0 if drop_prob is None else drop_prob
        if not 0 <= self.drop_prob < 1:
            raise ValueError(f"drop_prob must be at least 0 and below 1, but is {drop_prob}")
        self.keep_prob = 1 - self.drop_prob

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.drop_prob == 0 or not self.training:
            return x
        shape = (x.shape[0],) + (1,) * (x.dim() - 1)
        device, dtype = x.device, x.dtype
        chances = self._masks.take(
            (shape, device, dtype), lambda: torch.rand(shape, dtype=dtype, device=device)
        )
        return x * (chances < self.keep_prob) / self.keep_prob

    @classmethod
    def enable_droppath_ensemble(cls, model: nn.Module) -> None:
        """Draws what all layers of `model` need before each pass, on a stream of its own."""
        cls._masks.prepare_before(model)
