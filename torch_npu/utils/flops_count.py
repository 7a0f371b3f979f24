"""Counts the floating point operations of matrix products, convolutions and attention."""

from __future__ import annotations

from typing import Any

from torch.utils.flop_counter import FlopCounterMode


class FlopsCounter:
    """Counts between `start()` and `stop()`, on every device.

    It counts what `torch.utils.flop_counter` counts: a product of m × k and k × n matrices has
    2 · m · k · n operations. A context manager, too.
    """

    def __init__(self) -> None:
        self._mode: FlopCounterMode | None = None
        self._before = 0
        self._begun = False

    def start(self) -> None:
        """Begins at zero."""
        self.stop()
        self._begun = True
        self.resume()

    def stop(self) -> None:
        """Ends the counting and forgets the count."""
        self._leave()
        self._before = 0
        self._begun = False

    def pause(self) -> None:
        """What runs until `resume()` is not counted."""
        self._leave()

    def resume(self) -> None:
        """Goes on after `pause()`. Raises `RuntimeError` before `start()`."""
        if not self._begun:
            raise RuntimeError("start() comes before resume()")
        if self._mode is None:
            self._mode = FlopCounterMode(display=False)
            self._mode.__enter__()

    def get_flops(self) -> list[int]:
        """Two equal numbers: what was counted, and what ran while counting. None is replayed."""
        now = 0 if self._mode is None else self._mode.get_total_flops()
        return [self._before + now] * 2

    def _leave(self) -> None:
        if self._mode is not None:
            self._before += self._mode.get_total_flops()
            self._mode.__exit__(None, None, None)
            self._mode = None

    def __enter__(self) -> FlopsCounter:
        self.start()
        return self

    def __exit__(self, *_error: Any) -> None:
        self._leave()
