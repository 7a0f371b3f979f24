"""A convolution of int8 weights and inputs."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.utils import _pair

from torch_npu.contrib.module import _quantised

# The numbers of PyTorch's scalar types, by which the output's dtype may be given as well.
_DTYPES = {5: torch.float16, 6: torch.float32, 15: torch.bfloat16}


class QuantConv2d(nn.Module):
    """y = (conv2d(x, weight) + bias) · scale, of int8 inputs and weights.

    The parameters have no gradients and no values until a checkpoint gives them: `weight`
    (out, in / groups, height, width), `scale` (out) in float32 or CANN's packed int64, `bias`
    (out). Padding has the value `offset_x`.

    Args:
        output_dtype: float16, bfloat16 or float32, or the number of that scalar type.
        offset: must be false.
        round_mode: "rint", which matters to integer results only.
        input_dtype: `None`; another is refused, as for `weight_dtype`.

    The other arguments are those of `torch.nn.Conv2d`.
    """

    bias: nn.Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        output_dtype: int | torch.dtype,
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
        offset: bool = False,
        offset_x: int = 0,
        round_mode: str = "rint",
        input_dtype: Any = None,
        weight_dtype: Any = None,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if offset:
            raise ValueError("offset must be False: results are not integers")
        if round_mode != "rint":
            raise ValueError(f"round_mode must be 'rint', but is {round_mode!r}")
        if input_dtype is not None or weight_dtype is not None:
            raise NotImplementedError(
                "input_dtype and weight_dtype are not available in this version of torch_npu. "
                "Give int8 inputs and weights and leave them out."
            )
        chosen = _DTYPES.get(output_dtype) if isinstance(output_dtype, int) else output_dtype
        if chosen not in _DTYPES.values():
            raise ValueError(
                f"output_dtype must be one of {tuple(_DTYPES.values())}, but is {output_dtype!r}"
            )
        self.output_dtype = chosen
        self.stride, self.padding, self.dilation = _pair(stride), _pair(padding), _pair(dilation)
        self.groups = groups
        self.offset_x = offset_x
        self.weight = _quantised.frozen(out_channels, in_channels // groups, *_pair(kernel_size))
        self.scale = _quantised.frozen(out_channels, dtype=torch.int64)
        _quantised.register(self, "bias", bias, out_channels)
        self.register_parameter("offset", None)

    def forward(self, quant_conv2d_input: torch.Tensor) -> torch.Tensor:
        _quantised.require_int8(quant_conv2d_input, self.weight)
        rows, columns = self.padding
        # float64 holds every sum of products of int8 exactly.
        padded = F.pad(
            quant_conv2d_input.double(), (columns, columns, rows, rows), value=self.offset_x
        )
        total = F.conv2d(
            padded,
            self.weight.double(),
            None if self.bias is None else self.bias.double(),
            self.stride,
            0,
            self.dilation,
            self.groups,
        )
        scale = _quantised.scale_values(self.scale).double()
        return (total * scale[:, None, None]).to(self.output_dtype)
