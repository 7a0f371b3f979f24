"""A linear layer of int8 weights and float inputs."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from torch_npu.contrib.module import _quantised


class LinearWeightQuant(nn.Module):
    """y = x · ((weight + antiquant_offset) · antiquant_scale)ᵀ + bias.

    The parameters have no gradients and no values until a checkpoint gives them: `weight`
    (out, in) in int8, scales and offsets (out), or (out, in / group) with groups, `bias` (out).

    Args:
        in_features: the features of the input.
        out_features: the features of the result.
        bias: whether there is a bias.
        device: where the parameters are made.
        dtype: accepted and ignored, as on a card.
        antiquant_offset: whether weights have an offset.
        quant_scale: whether the result is int8, multiplied by this scale.
        quant_offset: whether int8 results have an offset.
        antiquant_group_size: how many inputs share a scale; 0 for all.
        inner_precise: accepted and ignored: sums are in float32.
        weight_dtype: `None`; another is refused.
    """

    weight: nn.Parameter
    antiquant_scale: nn.Parameter
    antiquant_offset: nn.Parameter | None
    quant_scale: nn.Parameter | None
    quant_offset: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
        antiquant_offset: bool = False,
        quant_scale: bool = False,
        quant_offset: bool = False,
        antiquant_group_size: int = 0,
        inner_precise: int = 0,
        weight_dtype: Any = None,
    ) -> None:
        super().__init__()
        if weight_dtype is not None:
            raise NotImplementedError(
                f"weight_dtype={weight_dtype} is not available in this version of torch_npu. "
                "Give int8 weights and leave weight_dtype out."
            )
        self.weight = _quantised.frozen(out_features, in_features, device=device)
        self.antiquant_scale = _quantised.frozen(out_features, device=device)
        for name, wanted in (
            ("antiquant_offset", antiquant_offset),
            ("quant_scale", quant_scale),
            ("quant_offset", quant_offset),
            ("bias", bias),
        ):
            _quantised.register(self, name, wanted, out_features, device=device)
        self.antiquant_group_size = antiquant_group_size
        self.inner_precise = inner_precise

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.weight.dtype != torch.int8:
            raise ValueError(f"weight must be torch.int8, but is {self.weight.dtype}")
        weight = self.weight.float()
        if self.antiquant_offset is not None:
            weight = weight + self._for_each_weight(self.antiquant_offset)
        weight = weight * self._for_each_weight(self.antiquant_scale)
        result = x.float() @ weight.t()
        if self.bias is not None:
            result = result + self.bias
        if self.quant_scale is None:
            return result.to(x.dtype)
        result = result * _quantised.scale_values(self.quant_scale)
        return _quantised.to_int8(
            result if self.quant_offset is None else result + self.quant_offset
        )

    def _for_each_weight(self, values: torch.Tensor) -> torch.Tensor:
        values = values.float()
        if values.dim() == 1:
            return values[:, None]
        if self.antiquant_group_size:
            values = values.repeat_interleave(self.antiquant_group_size, 1)
        return values[:, : self.weight.shape[1]]
