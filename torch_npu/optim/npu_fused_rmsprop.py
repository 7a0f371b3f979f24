"""RMSprop."""

from __future__ import annotations

from typing import Any

import torch

from torch_npu.optim._checks import require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part


class NpuFusedRMSprop(NpuFusedOptimizerBase):
    """`torch.optim.RMSprop`: the same arguments, updates and states."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
    ) -> None:
        require_non_negative(
            lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum
        )
        super().__init__(
            params,
            {
                "lr": lr,
                "alpha": alpha,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "centered": centered,
            },
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        names = ["square_avg"]
        names += ["momentum_buffer"] * (group["momentum"] > 0) + ["grad_avg"] * group["centered"]
        return dict.fromkeys(names, 0.0)

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        gradients = part.gradients
        if group["weight_decay"]:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        denominator = self._spread(group, part, gradients).sqrt_().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = part.states["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(gradients, denominator)
            part.values.add_(buffer, alpha=-group["lr"])
        else:
            part.values.addcdiv_(gradients, denominator, value=-group["lr"])

    def _spread(self, group: dict[str, Any], part: Part, gradients: torch.Tensor) -> torch.Tensor:
        """The mean square of the gradients, around their mean where `centered`; a new tensor."""
        square = part.states["square_avg"]
        square.lerp_(gradients * gradients, 1 - group["alpha"])
        if not group["centered"]:
            return square.clone()
        mean = part.states["grad_avg"].lerp_(gradients, 1 - group["alpha"])
        return square.addcmul(mean, mean, value=-1)
