"""`torch.amp.GradScaler` for `npu`, which can also keep its scale fixed."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NoReturn

import torch
from torch.amp.grad_scaler import _refresh_per_optimizer_state

from torch_npu.npu.overflow import clear_npu_overflow_flag, get_npu_overflow_flag


class GradScaler(torch.amp.GradScaler):
    """Scales losses so that float16 gradients do not vanish.

    Args:
        init_scale: the scale at first.
        growth_factor: by how much it grows after `growth_interval` steps without overflow.
        backoff_factor: by how much it shrinks after an overflow.
        growth_interval: see `growth_factor`.
        dynamic: whether the scale changes at all; a step that overflows is skipped either way.
        enabled: whether this object does anything.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__(
            "npu",
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        self._dynamic = dynamic

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Adapts the scale, or sets it to `new_scale`; a fixed one only changes by the latter."""
        if not self._enabled:
            return
        if self._dynamic or new_scale is not None:
            super().update(new_scale)
        else:
            self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def state_dict(self) -> dict[str, Any]:
        """The state of `torch.amp.GradScaler`, with `dynamic`; empty where disabled."""
        state = super().state_dict()
        if self._enabled:
            state["dynamic"] = self._dynamic
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restores what `state_dict` gave; one of `torch.amp.GradScaler` serves too."""
        super().load_state_dict(state_dict)
        self._dynamic = state_dict.get("dynamic", self._dynamic)

    @staticmethod
    def get_npu_overflow_flag() -> NoReturn:
        """See `torch.npu.get_npu_overflow_flag`."""
        get_npu_overflow_flag()

    @staticmethod
    def clear_npu_overflow_flag() -> None:
        """See `torch.npu.clear_npu_overflow_flag`."""
        clear_npu_overflow_flag()
