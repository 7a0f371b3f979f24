"""The first layer of YOLOv5: every second pixel becomes a channel."""

from __future__ import annotations

import torch
from torch import nn


def autopad(k: int | list[int], p: int | list[int] | None = None) -> int | list[int]:
    """The padding that keeps the size for the kernel size `k`; `p` itself where it is given."""
    if p is not None:
        return p
    return k // 2 if isinstance(k, int) else [size // 2 for size in k]


def fast_slice(x: torch.Tensor) -> list[torch.Tensor]:
    """The four images of every second row and column, rows first."""
    return [x[..., row::2, column::2] for column in (0, 1) for row in (0, 1)]


class Conv(nn.Module):
    """Convolution, batch normalisation and, with `act`, a leaky ReLU.

    Args:
        c1: input channels.
        c2: output channels.
        k: kernel size.
        s: stride.
        p: padding; `autopad(k)` by default.
        g: groups.
        act: whether there is an activation.
    """

    def __init__(
        self,
        c1: int,
        c2: int,
        k: int = 1,
        s: int = 1,
        p: int | None = None,
        g: int = 1,
        act: bool = True,
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, autopad(k, p), groups=g, bias=False)  # type: ignore[arg-type]
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(self.bn(self.conv(x)))

    def fuseforward(self, x: torch.Tensor) -> torch.Tensor:
        """`forward` once the normalisation is folded into the convolution's weights."""
        return self.act(self.conv(x))


class Focus(nn.Module):
    """`Conv` over (n, 4 · c1, h / 2, w / 2), made of the pixels of (n, c1, h, w)."""

    def __init__(
        self,
        c1: int,
        c2: int,
        k: int = 1,
        s: int = 1,
        p: int | None = None,
        g: int = 1,
        act: bool = True,
    ) -> None:
        super().__init__()
        self.conv = Conv(c1 * 4, c2, k, s, p, g, act)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(torch.cat(fast_slice(x), 1))
