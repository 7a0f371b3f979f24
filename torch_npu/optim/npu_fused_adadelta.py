"""Adadelta."""

from __future__ import annotations

from typing import Any

from torch_npu.optim._checks import require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part


class NpuFusedAdadelta(NpuFusedOptimizerBase):
    """`torch.optim.Adadelta`: the same arguments, updates and states."""

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
    ) -> None:
        require_non_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        if not 0 <= rho <= 1:
            raise ValueError(f"rho must be between 0 and 1, but is {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        gradients, rho, eps = part.gradients, group["rho"], group["eps"]
        if group["weight_decay"]:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        square, changes = part.states["square_avg"], part.states["acc_delta"]
        square.mul_(rho).addcmul_(gradients, gradients, value=1 - rho)
        change = (changes + eps).sqrt_().div_((square + eps).sqrt_()).mul_(gradients)
        changes.mul_(rho).addcmul_(change, change, value=1 - rho)
        part.values.add_(change, alpha=-group["lr"])
