"""`torch.autocast` and its companions for custom autograd functions, with `npu` filled in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class autocast(torch.autocast):
    """`torch.autocast("npu", ...)`: a context manager and a decorator."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype = torch.float16,
        cache_enabled: bool = True,
    ) -> None:
        super().__init__("npu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, cast_inputs: torch.dtype | None = None
) -> Callable[..., Any]:
    """`torch.amp.custom_fwd` for `npu`: decorates `forward` of an autograd function."""
    return torch.amp.custom_fwd(fwd, device_type="npu", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Callable[..., Any]:
    """`torch.amp.custom_bwd` for `npu`: decorates `backward` of an autograd function."""
    return torch.amp.custom_bwd(bwd, device_type="npu")
