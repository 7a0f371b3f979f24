"""A linear layer of int8 weights and inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_npu.contrib.module import _quantised

_OUTPUT_DTYPES = (None, torch.int8, torch.float16, torch.bfloat16, torch.int32)


class LinearQuant(nn.Module):
    """y = (x · weightᵀ + bias) · scale, of int8 inputs and weights.

    The parameters have no gradients and no values until a checkpoint gives them: `weight`
    (out, in), `scale` (out), `bias` (out) in int32, `offset` (out) for int8 results, and
    `pertoken_scale`, one factor for each row of the input.

    Args:
        in_features: the features of the input.
        out_features: the features of the result.
        bias: whether there is a bias.
        offset: whether an offset is added to int8 results.
        pertoken_scale: whether rows have scales of their own.
        device: accepted and ignored, as on a card.
        dtype: accepted and ignored, as on a card.
        output_dtype: int8 (the default), float16, bfloat16 or int32.
    """

    weight: nn.Parameter
    scale: nn.Parameter
    offset: nn.Parameter | None
    pertoken_scale: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        bias: bool = True,
        offset: bool = False,
        pertoken_scale: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
        output_dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if output_dtype not in _OUTPUT_DTYPES:
            raise ValueError(
                f"output_dtype must be one of {_OUTPUT_DTYPES[1:]}, but is {output_dtype}"
            )
        self.in_features = in_features
        self.out_features = out_features
        self.output_dtype = output_dtype
        self.weight = _quantised.frozen(out_features, in_features)
        self.scale = _quantised.frozen(out_features)
        float32 = torch.float32
        _quantised.register(self, "offset", offset, out_features, dtype=float32)
        _quantised.register(self, "pertoken_scale", pertoken_scale, out_features, dtype=float32)
        _quantised.register(self, "bias", bias, out_features, dtype=torch.int32)

    def forward(self, linear_quant_input: torch.Tensor) -> torch.Tensor:
        return _quantised.quantised_linear(
            linear_quant_input,
            self.weight,
            self.scale,
            self.offset,
            self.pertoken_scale,
            self.bias,
            self.output_dtype,
        )
