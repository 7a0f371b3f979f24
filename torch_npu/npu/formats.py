"""The memory formats of npu tensors.

The data of every tensor stays in the plain order (ND); a cast notes the format, and
``get_npu_format`` reports it. Numbers are CANN's ``aclFormat``.
"""

from __future__ import annotations

import enum
import operator

import torch


class Format(enum.IntEnum):
    """CANN's memory formats, as ``npu_format_cast`` takes them."""

    UNDEFINED = -1
    NCHW = 0
    NHWC = 1
    ND = 2
    NC1HWC0 = 3
    FRACTAL_Z = 4
    NC1HWC0_C04 = 12
    HWCN = 16
    NDHWC = 27
    FRACTAL_NZ = 29
    NCDHW = 30
    NDC1HWC0 = 32
    FRACTAL_Z_3D = 33
    NC = 35
    NCL = 47


def npu_format_cast(
    self: torch.Tensor, acl_format: int | torch.Tensor, customize_dtype: int | None = None
) -> torch.Tensor:
    """Gives `self` in another format, or in the format of another tensor.

    Between formats without padding (NCHW, ND and the like) the result shares the memory of `self`;
    otherwise it is a copy. `customize_dtype` sets the width of a tile on a card and has no effect.

    Raises:
        TypeError: `acl_format` is neither a number nor a tensor.
        ValueError: `acl_format` is no format of a tensor.
    """
    target = _target("npu_format_cast", "acl_format", acl_format)
    return torch.ops.npu.npu_format_cast(self, target, customize_dtype=customize_dtype)


def npu_format_cast_(
    self: torch.Tensor, src: int | torch.Tensor, customize_dtype: int | None = None
) -> torch.Tensor:
    """Notes another format, or the format of another tensor, for the memory of `self`.

    Raises:
        TypeError: `src` is neither a number nor a tensor.
        ValueError: `src` is no format of a tensor.
    """
    target = _target("npu_format_cast_", "src", src)
    return torch.ops.npu.npu_format_cast_(self, target, customize_dtype=customize_dtype)


def _target(name: str, argument: str, target: int | torch.Tensor) -> int | torch.Tensor:
    if isinstance(target, torch.Tensor):
        return target
    try:
        return operator.index(target)
    except TypeError:
        raise TypeError(
            f"{name}(): expected a format's number or a tensor as '{argument}', but got "
            f"{type(target).__name__}"
        ) from None
