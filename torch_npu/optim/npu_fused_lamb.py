"""LAMB, for large batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from torch_npu.optim._checks import require_decay_rates, require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part


class NpuFusedLamb(NpuFusedOptimizerBase):
    """Adam without bias correction, each parameter's update as long as its weights.

    You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes". The
    length of the weights counts up to 10.

    Args:
        adam: whether updates keep their own length.
        use_global_grad_norm: whether gradients are divided by their norm where it is above 1.

    The other arguments are those of `torch.optim.Adam`.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0,
        adam: bool = False,
        use_global_grad_norm: bool = False,
    ) -> None:
        require_non_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        require_decay_rates(betas)
        self.adam = adam
        self.use_global_grad_norm = use_global_grad_norm
        super().__init__(
            params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        beta1, beta2 = group["betas"]
        average, square = part.states["exp_avg"], part.states["exp_avg_sq"]
        average.lerp_(part.gradients, 1 - beta1)
        square.mul_(beta2).addcmul_(part.gradients, part.gradients, value=1 - beta2)
        change = average / square.sqrt().add_(group["eps"])
        if group["weight_decay"]:
            change.add_(part.values, alpha=group["weight_decay"])
        if not self.adam:
            for parameter, own in part.split(change):
                weights, length = parameter.norm().clamp(max=10), own.norm()
                ratio = torch.where((weights == 0) | (length == 0), 1.0, weights / length)
                own.mul_(ratio.to(own.dtype))
        part.values.add_(change, alpha=-group["lr"])

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; `closure`, where given, computes the loss again, and is returned."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        if self.use_global_grad_norm:
            self.clip_grad_norm_fused_(1.0)
        super().step()
        return loss
