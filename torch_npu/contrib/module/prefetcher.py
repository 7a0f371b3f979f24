"""Copies the next batch while the current one is computed with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from torch_npu import npu


class Prefetcher:
    """Gives the pairs (input, target) of a loader on `npu`, copied ahead on another stream.

    Args:
        loader: what gives pairs of tensors.
        stream: where to copy; a new stream by default.
    """

    def __init__(self, loader: Iterable[Any], stream: Any = None) -> None:
        self.loader = iter(loader)
        self.stream = npu.Stream() if stream is None else stream
        self.next_input: torch.Tensor | None = None
        self.next_target: torch.Tensor | None = None
        self.preload()

    def preload(self) -> None:
        """Begins to copy the next pair; after the last one, both are `None`."""
        try:
            batch, target = next(self.loader)
        except StopIteration:
            self.next_input = self.next_target = None
            return
        with npu.stream(self.stream):
            self.next_input = batch.npu(non_blocking=True)
            self.next_target = target.npu(non_blocking=True)

    def next(self) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """The next pair, ready for the current stream; two times `None` after the last."""
        current = npu.current_stream()
        current.wait_stream(self.stream)
        batch, target = self.next_input, self.next_target
        for tensor in (batch, target):
            if tensor is not None:
                tensor.record_stream(current)
        if target is not None:
            self.preload()
        return batch, target
