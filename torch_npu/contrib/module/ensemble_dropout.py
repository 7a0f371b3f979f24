"""Dropout whose masks are drawn ahead."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import nn

from torch_npu.contrib.module._pregenerated import MaskStore


class NpuCachedDropout(nn.Dropout):
    """`torch.nn.Dropout`, with masks that can be drawn before the pass.

    Given `[shape, dtype, device]` instead of a tensor it returns the mask itself, a bool tensor
    that is true for what is kept, or `None` where nothing is dropped.

    Args:
        p: the probability of an element to be zeroed.
        module_name: the name of the layer that owns this one, for the reader.
    """

    _masks: ClassVar[MaskStore] = MaskStore()

    def __init__(self, p: float, module_name: str | None = None) -> None:
        super().__init__(p)
        self.module_name = module_name

    def forward(  # type: ignore[override]
        self, x: torch.Tensor | list
    ) -> torch.Tensor | None:
        if isinstance(x, torch.Tensor):
            shape, dtype, device = x.shape, x.dtype, x.device
        elif isinstance(x, list) and len(x) == 3:
            shape, dtype, device = torch.Size(x[0]), x[1], torch.device(x[2])
        else:
            raise TypeError(f"expected a tensor or [shape, dtype, device], but got: {x!r}")
        if self.p == 0 or not self.training:
            return x if isinstance(x, torch.Tensor) else None
        keep = 1 - self.p
        mask = self._masks.take(
            (shape, dtype, device, self.p),
            lambda: torch.rand(shape, device=device) < keep,
        )
        if not isinstance(x, torch.Tensor):
            return mask
        return x * mask / keep if keep else torch.zeros_like(x)

    @classmethod
    def enable_dropout_ensemble(cls, model: nn.Module) -> None:
        """Draws what all layers of `model` need before each pass, on a stream of its own."""
        cls._masks.prepare_before(model)


NpuFairseqDropout = NpuCachedDropout
