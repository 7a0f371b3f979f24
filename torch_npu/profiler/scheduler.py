"""Which steps of a program are profiled."""

from __future__ import annotations

from torch.profiler import ProfilerAction

__all__ = ["ProfilerAction", "Schedule"]


class Schedule:
    """Maps the number of a step to the profiler's action in it.

    After `skip_first` steps come cycles of `wait` idle steps, `warmup` steps whose results are
    dropped, and `active` recorded ones; the last of these saves. `repeat` is the number of cycles,
    0 for no limit. A `skip_first_wait` other than 0 leaves the first cycle's `wait` out.

    Raises `ValueError` for a number that is negative, or an `active` below 1; `TypeError` for what
    is no int.
    """

    def __init__(
        self,
        wait: int,
        active: int,
        warmup: int = 0,
        repeat: int = 0,
        skip_first: int = 0,
        skip_first_wait: int = 0,
    ) -> None:
        numbers = {
            "wait": (wait, 0),
            "active": (active, 1),
            "warmup": (warmup, 0),
            "repeat": (repeat, 0),
            "skip_first": (skip_first, 0),
            "skip_first_wait": (skip_first_wait, 0),
        }
        for name, (value, least) in numbers.items():
            if not isinstance(value, int):
                raise TypeError(f"schedule: {name} must be an int, but got {value!r}")
            if value < least:
                raise ValueError(f"schedule: {name} must be at least {least}, but got {value}")
        self.wait = wait
        self.active = active
        self.warmup = warmup
        self.repeat = repeat
        self.skip_first = skip_first
        self.skip_first_wait = skip_first_wait

    def __call__(self, step: int) -> ProfilerAction:
        """The action in step `step`, counted from 0. Raises `ValueError` for a negative one."""
        if step < 0:
            raise ValueError(f"schedule: step must not be negative, but got {step}")
        position = step - self.skip_first
        if position < 0:
            return ProfilerAction.NONE
        if self.skip_first_wait:
            position += self.wait
        cycle, position = divmod(position, self.wait + self.warmup + self.active)
        if self.repeat and cycle >= self.repeat:
            return ProfilerAction.NONE
        if position < self.wait:
            return ProfilerAction.NONE
        if position < self.wait + self.warmup:
            return ProfilerAction.WARMUP
        is_last = position == self.wait + self.warmup + self.active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD
