"""Random masks that are drawn on a stream of their own, ahead of the layers that use them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import nn

from torch_npu import npu

_Draw = Callable[[], torch.Tensor]


@dataclasses.dataclass
class _Kind:
    """Masks of one shape and distribution: how they are drawn, and how many a pass needs."""

    draw: _Draw
    wanted: int = 0
    ready: list[torch.Tensor] = dataclasses.field(default_factory=list)


class MaskStore:
    """Masks for the layers of one class.

    The first pass of a model draws its masks where they are needed. `prepare_before(model)` makes
    each later pass begin with drawing as many as the passes before took, on another stream.
    """

    def __init__(self) -> None:
        self._kinds: dict[Hashable, _Kind] = {}
        self._stream: Any = None

    def take(self, key: Hashable, draw: _Draw) -> torch.Tensor:
        """A mask of the kind `key`; `draw` makes one."""
        kind = self._kinds.setdefault(key, _Kind(draw))
        if kind.ready:
            return kind.ready.pop()
        kind.wanted += 1
        return draw()

    def prepare_before(self, model: nn.Module) -> None:
        """Draws before each pass of `model`."""
        if self._stream is None:
            self._stream = npu.Stream()
        model.register_forward_pre_hook(lambda _module, _inputs: self._prepare())

    def _prepare(self) -> None:
        current = npu.current_stream()
        with npu.stream(self._stream), torch.no_grad():
            for kind in self._kinds.values():
                while len(kind.ready) < kind.wanted:
                    mask = kind.draw()
                    mask.record_stream(current)
                    kind.ready.append(mask)
        current.wait_stream(self._stream)
