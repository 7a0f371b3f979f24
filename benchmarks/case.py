"""What a benchmark is, and how one is timed on two devices side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

Call = Callable[[], object]

# A case whose calls take so long, in all, has shown enough after a few rounds.
SLOW_SECONDS = 10.0
LEAST_ROUNDS = 3


class Side(Protocol):
    """One of the stacks that are compared, with a case prepared on it."""

    def round(self, count: int) -> float:
        """Makes `count` calls; seconds per call, unfinished work of the device included."""


@dataclass(frozen=True)
class Case:
    """`prepare(device)` sets everything up and returns the call that is timed."""

    name: str
    prepare: Callable[[str], Call]


@dataclass(frozen=True)
class Result:
    """Medians over the rounds, in microseconds per call."""

    name: str
    npu_us: float
    cpu_us: float
    official_us: float | None = None  # on the official torch_npu, where that is installed

    @property
    def ratio(self) -> float:
        """Below one: faster on `npu` than on the CPU."""
        return self.npu_us / self.cpu_us

    @property
    def official_ratio(self) -> float | None:
        """Below one: faster than the official torch_npu on the same softcann."""
        return self.npu_us / self.official_us if self.official_us else None


class Local:
    """A case on a device of this process."""

    def __init__(self, case: Case, device: str) -> None:
        self._call = case.prepare(device)
        self._device = device

    def round(self, count: int) -> float:
        synchronise(self._device)
        start = time.perf_counter()
        for _ in range(count):
            self._call()
        synchronise(self._device)
        return (time.perf_counter() - start) / count


def measure(
    case: Case, device: str, rounds: int, round_seconds: float, official: Side | None = None
) -> Result:
    """Times `case` on `device`, on the CPU and on `official`, if given, in alternating rounds.

    A round is as many calls as take about `round_seconds`, and ends with a synchronisation that
    counts: calls may overlap with the device's work, unfinished work may not be left out. Rounds
    alternate so that a change of the machine's speed meets all sides alike.
    """
    sides: list[Side] = [Local(case, device), Local(case, "cpu")]
    if official is not None:
        sides.append(official)
    counts = [_calls_per_round(side, round_seconds) for side in sides]
    seconds: list[list[float]] = [[] for _ in sides]
    for index in range(rounds):
        if index >= LEAST_ROUNDS and sum(map(sum, seconds)) > SLOW_SECONDS:
            break
        for side, count, samples in zip(sides, counts, seconds, strict=True):
            samples.append(side.round(count))
    return Result(case.name, *(statistics.median(samples) * 1e6 for samples in seconds))


def _calls_per_round(side: Side, round_seconds: float) -> int:
    side.round(2)  # first calls fill caches
    count = 1
    while (total := side.round(count) * count) < round_seconds / 4:
        count *= 2
    return max(1, round(count * round_seconds / total))


def synchronise(device: str) -> None:
    """Waits for the device's work; the CPU has none outstanding."""
    if device != "cpu":
        torch.accelerator.synchronize(torch.device(device))
