"""The Adam of the first BERT."""

from __future__ import annotations

import math
from typing import Any

from torch_npu.optim._checks import require_decay_rates, require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part

# The factor of the learning rate after the warm-up, by the share of steps that are done.
SCHEDULES = {
    "warmup_cosine": lambda done, warmup: 0.5 * (1 + math.cos(math.pi * done)),
    "warmup_constant": lambda done, warmup: 1.0,
    "warmup_linear": lambda done, warmup: max((done - 1) / (warmup - 1), 0.0),
    "warmup_poly": lambda done, warmup: max(1 - done, 0.0) ** 0.5,
}


class NpuFusedBertAdam(NpuFusedOptimizerBase):
    """Adam without bias correction, with weight decay, clipping and a learning rate schedule.

    Args:
        params: parameters or groups.
        lr: the learning rate; required.
        warmup: the share of `t_total` in which the rate rises from 0; -1 for none.
        t_total: how many steps there will be; -1 for a constant rate.
        schedule: one of "warmup_linear", "warmup_constant", "warmup_cosine" and "warmup_poly".
        b1: the decay rate of the first moment.
        b2: the decay rate of the second moment.
        e: what is added to the denominator.
        weight_decay: the factor of the weights in the update.
        max_grad_norm: the gradients of a group are clipped to this norm; 0 or less for no limit.
    """

    def __init__(
        self,
        params: Any,
        lr: float | None = None,
        warmup: float = -1,
        t_total: int = -1,
        schedule: str = "warmup_linear",
        b1: float = 0.9,
        b2: float = 0.999,
        e: float = 1e-6,
        weight_decay: float = 0.01,
        max_grad_norm: float = 1.0,
    ) -> None:
        require_non_negative(lr=lr, e=e)
        require_decay_rates((b1, b2), "(b1, b2)")
        if warmup != -1 and not 0 <= warmup < 1:
            raise ValueError(f"warmup must be -1, or at least 0 and below 1, but is {warmup}")
        if schedule not in SCHEDULES:
            raise ValueError(f"schedule must be one of {sorted(SCHEDULES)}, but is {schedule!r}")
        self.max_grad_norm = max_grad_norm
        super().__init__(
            params,
            {
                "lr": lr,
                "schedule": schedule,
                "warmup": warmup,
                "t_total": t_total,
                "b1": b1,
                "b2": b2,
                "e": e,
                "weight_decay": weight_decay,
                "max_grad_norm": max_grad_norm,
            },
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        gradients = part.gradients
        if self.max_grad_norm > 0:
            norm = gradients.float().norm()
            gradients.mul_((self.max_grad_norm / (norm + 1e-6)).clamp(max=1.0).to(gradients.dtype))
        average, square = part.states["exp_avg"], part.states["exp_avg_sq"]
        average.lerp_(gradients, 1 - group["b1"])
        square.mul_(group["b2"]).addcmul_(gradients, gradients, value=1 - group["b2"])
        change = average / square.sqrt().add_(group["e"])
        if group["weight_decay"] > 0:
            change.add_(part.values, alpha=group["weight_decay"])
        part.values.add_(change, alpha=-group["lr"] * _schedule(group, step - 1))


def _schedule(group: dict[str, Any], steps_done: int) -> float:
    if group["t_total"] == -1:
        return 1.0
    done, warmup = steps_done / group["t_total"], group["warmup"]
    return done / warmup if done < warmup else SCHEDULES[group["schedule"]](done, warmup)
