"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch_npu.optim._checks import require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part


class NpuFusedSGD(NpuFusedOptimizerBase):
    """`torch.optim.SGD`: the same arguments, updates and states; `lr` is required."""

    def __init__(
        self,
        params: Any,
        lr: float | None = None,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        require_non_negative(lr=lr, momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
            },
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        change = part.gradients
        if group["weight_decay"]:
            change = change.add(part.values, alpha=group["weight_decay"])
        if group["momentum"]:
            buffer = part.states["momentum_buffer"]
            # The first gradient is not dampened.
            dampening = 0 if part.is_new else group["dampening"]
            buffer.mul_(group["momentum"]).add_(change, alpha=1 - dampening)
            change = change.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        part.values.add_(change, alpha=-group["lr"])

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; `closure`, where given, computes the loss again, and is returned."""
        return super().step(closure)
