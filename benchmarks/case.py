"""What a benchmark is, and how one is timed on two devices side by side."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

Call = Callable[[], object]


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

    @property
    def ratio(self) -> float:
        """Below one: faster on `npu` than on the CPU."""
        return self.npu_us / self.cpu_us


def measure(case: Case, device: str, rounds: int, round_seconds: float) -> Result:
    """Times `case` on `device` and on the CPU in alternating rounds.

    A round is as many calls as take about `round_seconds`, and ends with a synchronisation that
    counts: calls may overlap with the device's work, unfinished work may not be left out. Rounds
    alternate so that a change of the machine's speed meets both sides alike.
    """
    calls = {each: case.prepare(each) for each in (device, "cpu")}
    counts = {each: _calls_per_round(call, each, round_seconds) for each, call in calls.items()}
    seconds: dict[str, list[float]] = {each: [] for each in calls}
    for _ in range(rounds):
        for each, call in calls.items():
            seconds[each].append(_round(call, each, counts[each]))
    npu, cpu = (statistics.median(seconds[each]) * 1e6 for each in (device, "cpu"))
    return Result(case.name, npu, cpu)


def _calls_per_round(call: Call, device: str, round_seconds: float) -> int:
    _round(call, device, 3)  # first calls fill caches
    count = 1
    while (total := _round(call, device, count) * count) < round_seconds / 4:
        count *= 2
    return max(1, round(count * round_seconds / total))


def _round(call: Call, device: str, count: int) -> float:
    """Seconds per call, the device's unfinished work included."""
    synchronise(device)
    start = time.perf_counter()
    for _ in range(count):
        call()
    synchronise(device)
    return (time.perf_counter() - start) / count


def synchronise(device: str) -> None:
    """Waits for the device's work; the CPU has none outstanding."""
    if device != "cpu":
        torch.accelerator.synchronize(torch.device(device))
