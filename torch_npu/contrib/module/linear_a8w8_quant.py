"""A linear layer of int8 weights and inputs that checks its parameters."""

from __future__ import annotations

import torch

from torch_npu.contrib.module.linear_quant import LinearQuant

_ACCEPTED = {
    "scale": (torch.int64, torch.float32, torch.bfloat16),
    "offset": (torch.float32,),
    "bias": (torch.int32, torch.bfloat16, torch.float16, torch.float32),
    "pertoken_scale": (torch.float32,),
}


class LinearA8W8Quant(LinearQuant):
    """`LinearQuant` that raises `ValueError` for parameters of a dtype that a card refuses."""

    def forward(self, linear_quant_input: torch.Tensor) -> torch.Tensor:
        for name, accepted in _ACCEPTED.items():
            parameter = getattr(self, name)
            if parameter is not None and parameter.dtype not in accepted:
                raise ValueError(f"{name} must be of one of {accepted}, but is {parameter.dtype}")
        return super().forward(linear_quant_input)
