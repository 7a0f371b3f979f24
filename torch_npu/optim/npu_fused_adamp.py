"""AdamP, which does not let momentum grow the weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from torch_npu.optim._checks import require_decay_rates, require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part, bias_corrected

_Rows = Callable[[torch.Tensor], torch.Tensor]


def _channels(x: torch.Tensor) -> torch.Tensor:
    return x.view(x.shape[0], -1)


def _layer(x: torch.Tensor) -> torch.Tensor:
    return x.view(1, -1)


class NpuFusedAdamP(NpuFusedOptimizerBase):
    """Adam whose update has no part along the weights where these are scale-invariant.

    Heo et al., "AdamP: Slowing Down the Slowdown for Momentum Optimizers". Whether weights of two
    or more dimensions are scale-invariant is judged from the cosine of their gradient to them,
    which waits for the device.

    Args:
        delta: the cosine, times the root of the size, below which they are.
        wd_ratio: the factor of the weight decay of such weights.
        nesterov: whether momentum looks ahead.

    The other arguments are those of `torch.optim.AdamW`.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        delta: float = 0.1,
        wd_ratio: float = 0.1,
        nesterov: bool = False,
    ) -> None:
        require_non_negative(lr=lr, eps=eps, weight_decay=weight_decay)
        require_decay_rates(betas)
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "delta": delta,
                "wd_ratio": wd_ratio,
                "nesterov": nesterov,
            },
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_avg_sq": 0.0}

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        beta = group["betas"][0]
        denominator, factor = bias_corrected(
            part, part.gradients, group["betas"], group["eps"], step
        )
        average = part.states["exp_avg"]
        if group["nesterov"]:
            average = average.lerp(part.gradients, 1 - beta)
        change = average / denominator
        for parameter, own in part.split(change):
            ratio = self._project(group, parameter, own) if parameter.dim() > 1 else 1.0
            if group["weight_decay"]:
                parameter.mul_(1 - group["lr"] * group["weight_decay"] * ratio)
        part.values.add_(change, alpha=-group["lr"] * factor)

    def _project(
        self, group: dict[str, Any], parameter: torch.Tensor, change: torch.Tensor
    ) -> float:
        """Removes from `change` what is along the weights; the factor of the weight decay."""
        eps = group["eps"]
        for rows in (_channels, _layer):
            weights, gradients = rows(parameter), rows(parameter.grad)  # type: ignore[arg-type]
            size = weights.norm(dim=1) + eps
            cosine = (weights * gradients).sum(1).abs() / size / (gradients.norm(dim=1) + eps)
            if cosine.max().item() < group["delta"] / math.sqrt(weights.shape[1]):
                direction = weights / size[:, None]
                own = rows(change)
                own.sub_(direction * (direction * own).sum(1, keepdim=True))
                return group["wd_ratio"]
        return 1.0

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; `closure`, where given, computes the loss again, and is returned."""
        return super().step(closure)
