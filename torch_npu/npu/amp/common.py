"""Whether mixed precision can work at all."""

from __future__ import annotations

from torch_npu.npu.lazy import is_available


def amp_definitely_not_available() -> bool:
    """Whether there is no device to run mixed precision on."""
    return not is_available()
