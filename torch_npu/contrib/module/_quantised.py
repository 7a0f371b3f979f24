"""The arithmetic of layers whose weights, and perhaps inputs, are int8."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import Parameter


def frozen(*shape: int, dtype: torch.dtype | None = None, device: object = None) -> Parameter:
    """A parameter without a gradient, to be filled with a checkpoint's values."""
    return Parameter(torch.empty(shape, dtype=dtype, device=device), requires_grad=False)  # type: ignore[call-overload]


def register(module: nn.Module, name: str, wanted: bool, *shape: int, **options: object) -> None:
    """The parameter `name` of a module; `None` where it is not wanted."""
    module.register_parameter(name, frozen(*shape, **options) if wanted else None)  # type: ignore[arg-type]


def scale_values(scale: torch.Tensor) -> torch.Tensor:
    """A scale in float32. In int64, CANN's packed form, the low half holds the float's bits."""
    if scale.dtype != torch.int64:
        return scale.float()
    return scale.view(torch.int32)[..., ::2].contiguous().view(torch.float32)


def require_int8(values: torch.Tensor, weight: torch.Tensor) -> None:
    """Raises `ValueError` unless both are int8."""
    if values.dtype == weight.dtype == torch.int8:
        return
    if values.dtype == weight.dtype == torch.int32:
        raise NotImplementedError(
            "Eight int4 values in an int32 are not available in this version of torch_npu. "
            "Unpack them to int8."
        )
    raise ValueError(
        f"input and weight must both be torch.int8, but are {values.dtype} and {weight.dtype}"
    )


def to_int8(values: torch.Tensor) -> torch.Tensor:
    """Rounded to the nearest even and saturated."""
    return values.round().clamp(-128, 127).to(torch.int8)


def quantised_linear(
    values: torch.Tensor,
    weight: torch.Tensor,
    scale: torch.Tensor,
    offset: torch.Tensor | None,
    pertoken_scale: torch.Tensor | None,
    bias: torch.Tensor | None,
    output_dtype: torch.dtype | None,
) -> torch.Tensor:
    """int8 inputs (…, in) and weights (out, in) to `output_dtype`, int8 by default.

    The sum is exact in int32, with an integer bias; scales, a float bias and, for int8 results,
    the offset follow in float32.
    """
    require_int8(values, weight)
    total = values.int() @ weight.int().t()
    if bias is not None and bias.dtype == torch.int32:
        total = total + bias
    result = total.float() * scale_values(scale)
    if pertoken_scale is not None:
        result = result * pertoken_scale[..., None]
    if bias is not None and bias.dtype != torch.int32:
        result = result + bias
    if output_dtype not in (None, torch.int8):
        return result.to(output_dtype)
    return to_int8(result if offset is None else result + offset)
