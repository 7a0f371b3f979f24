"""RMSprop in TensorFlow's manner."""

from __future__ import annotations

from typing import Any

from torch_npu.optim.npu_fused_optim_base import Part
from torch_npu.optim.npu_fused_rmsprop import NpuFusedRMSprop


class NpuFusedRMSpropTF(NpuFusedRMSprop):
    """RMSprop whose `eps` is within the root and whose mean square begins at 1.

    Args:
        decoupled_decay: whether weight decay shrinks the weights, by the factor
            `1 - weight_decay`, instead of changing the gradients.
        lr_in_momentum: whether momentum accumulates updates, learning rate included.

    The other arguments are those of `torch.optim.RMSprop`.
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.9,
        eps: float = 1e-10,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
        decoupled_decay: bool = False,
        lr_in_momentum: bool = True,
    ) -> None:
        super().__init__(params, lr, alpha, eps, weight_decay, momentum, centered)
        for group in (self.defaults, *self.param_groups):
            group.setdefault("decoupled_decay", decoupled_decay)
            group.setdefault("lr_in_momentum", lr_in_momentum)

    def _states(self, group: dict[str, Any]) -> dict[str, float]:
        return super()._states(group) | {"square_avg": 1.0}

    def _update(self, group: dict[str, Any], part: Part, step: int) -> None:
        gradients, rate = part.gradients, group["lr"]
        if group["weight_decay"] and group["decoupled_decay"]:
            part.values.mul_(1 - group["weight_decay"])
        elif group["weight_decay"]:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        denominator = self._spread(group, part, gradients).add_(group["eps"]).sqrt_()
        if group["momentum"] <= 0:
            part.values.addcdiv_(gradients, denominator, value=-rate)
            return
        buffer = part.states["momentum_buffer"].mul_(group["momentum"])
        if group["lr_in_momentum"]:
            buffer.addcdiv_(gradients, denominator, value=rate)
            part.values.sub_(buffer)
        else:
            part.values.add_(buffer.addcdiv_(gradients, denominator), alpha=-rate)
