"""Adam with decoupled weight decay."""

from __future__ import annotations

from typing import Any

import torch

from torch_npu.optim.npu_fused_adam import NpuFusedAdam
from torch_npu.optim.npu_fused_optim_base import Part


class NpuFusedAdamW(NpuFusedAdam):
    """`torch.optim.AdamW`: the same arguments, updates and states."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)

    def _decayed(self, group: dict[str, Any], part: Part) -> torch.Tensor:
        part.values.mul_(1 - group["lr"] * group["weight_decay"])
        return part.gradients
