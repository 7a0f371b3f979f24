"""Adam."""

from __future__ import annotations

from typing import Any

import torch

from torch_npu.optim._checks import require_decay_rates, require_non_negative
from torch_npu.optim.npu_fused_optim_base import NpuFusedOptimizerBase, Part, bias_corrected


class NpuFusedAdam(NpuFusedOptimizerBase):
    """`torch.optim.Adam`: the same arguments, updates and states."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
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
                "amsgrad": amsgrad,
            },
        )

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        names = ["exp_avg", "exp_avg_sq"] + ["max_exp_avg_sq"] * group["amsgrad"]
        return dict.fromkeys(names, 0.0)

    def _decayed(self, group: dict[str, Any], part: Part) -> torch.Tensor:
        """The gradients that the moments follow, after weight decay."""
        if group["weight_decay"]:
            return part.gradients.add(part.values, alpha=group["weight_decay"])
        return part.gradients

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        gradients = self._decayed(group, part)
        denominator, factor = bias_corrected(
            part, gradients, group["betas"], group["eps"], step, group["amsgrad"]
        )
        part.values.addcdiv_(part.states["exp_avg"], denominator, value=-group["lr"] * factor)
