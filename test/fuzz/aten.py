"""Random wrong calls of every ATen operator of the table, on `npu` and on the CPU.

    cd test && python -m fuzz.aten --draws 3

Each operator's draws have a seed of their own, made of its name: what is found is found again. An
error of the right type that comes at synchronisation, not at the call, is shown and counted only:
phase one tries small calls, but cannot foresee what every kernel refuses.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import random
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from conformance import samples
from conformance.processes import At, Job, Pool
from fuzz import compare, mutations, outputs, seeds

ROOT = Path(__file__).parents[2]
KNOWN = Path(__file__).with_name("known_differences.txt")
# Not meta: whatever the other tensors are, PyTorch sends such calls to its meta functions.
DEVICES = ("cpu", "npu:1")
# What their kernels read is checked by their callers, so that wrong arguments crash the CPU too.
UNCHECKED_BY_PYTORCH = {"lu_unpack", "cummax_helper", "cummin_helper"}
# The CPU's kernels of these write beyond an output of another dtype, and the process dies later.
CORRUPTING_ON_CPU = {
    *("adaptive_avg_pool3d", "adaptive_max_pool2d", "adaptive_max_pool3d"),
    *("fractional_max_pool3d", "replication_pad3d"),
}


@dataclasses.dataclass(frozen=True)
class Unit:
    """One overload, with so many draws of each of the three ways to spoil a call."""

    name: str
    draws: int
    device: str = "npu"


@dataclasses.dataclass(frozen=True)
class Case:
    mutation: str
    args: Any
    kwargs: Any
    expected: Any = None  # the CPU's outcome of the call with all tensors in one place


@dataclasses.dataclass(frozen=True)
class Difference:
    name: str
    mutation: str
    reason: str

    @property
    def is_late(self) -> bool:
        return self.reason.startswith("late: cpu gave")


@dataclasses.dataclass
class Result:
    checked: int = 0
    differences: list[Difference] = dataclasses.field(default_factory=list)


_calls: seeds.Calls = {}  # what a worker has recorded at its first unit


def cases(function: Any, draws: int) -> Iterator[Case]:
    """The unit's calls, in the same order in every process."""
    name = function.__name__.partition(".")[0]
    generator = random.Random(samples.seed_for(str(function)))
    known = seeds.calls(function, _calls)
    internal = seeds.is_internal(function)
    for _ in range(draws):
        call = generator.choice(known)
        outs = compare.right_outputs(function, call)
        mutated = mutations.mutate(function, (call.args, call.kwargs), generator)
        harmless = ("none", "dtypes", "strides", "lazy")
        spoils = name.strip("_") not in UNCHECKED_BY_PYTORCH and not internal
        if outs is not None and mutated is not None and (spoils or mutated[0] in harmless):
            args, kwargs = mutated[1]
            yield Case(mutated[0], args, compare.with_outputs(function, kwargs, outs))
    if internal or name in CORRUPTING_ON_CPU:
        return
    call = generator.choice(known)
    outs = compare.right_outputs(function, call)
    if outs:
        spoilt = list(outputs.spoilt(outs, call))
        for mutation, changed in generator.sample(spoilt, min(draws, len(spoilt))):
            yield Case(mutation, call.args, compare.with_outputs(function, call.kwargs, changed))
    if outs is None:
        return
    kwargs = compare.with_outputs(function, call.kwargs, outs)
    expected, _ = compare.run(function, call.args, kwargs, "cpu")
    if expected.error is None:
        misplaced = list(outputs.misplaced((call.args, kwargs), DEVICES))
        for mutation, (args, kwargs) in generator.sample(misplaced, min(draws, len(misplaced))):
            yield Case(mutation, args, kwargs, expected)


def run_unit(unit: Unit, left_out: frozenset[int], connection: Connection) -> Result:
    function = seeds.overload(unit.name)
    result = Result()
    if not _calls:
        _calls.update(seeds.record(lambda: connection.send(At(-1, "cpu"))))
    connection.send(At(-1, "cpu"))
    for index, case in enumerate(cases(function, unit.draws)):
        if index in left_out:
            continue
        result.checked += 1
        reason = _reason(function, index, case, connection)
        connection.send(At(index + 1, "cpu"))
        if reason is not None:
            result.differences.append(Difference(unit.name, case.mutation, reason))
    return result


def _reason(function: Any, index: int, case: Case, connection: Connection) -> str | None:
    connection.send(At(index, "cpu"))
    samples.seed("cpu", index)
    if case.expected is not None:
        connection.send(At(index, "npu"))
        return compare.misplacement(function, case.args, case.kwargs, case.expected)
    expected, _ = compare.run(function, case.args, case.kwargs, "cpu")
    connection.send(At(index, "npu"))
    return compare.difference(function, case.args, case.kwargs, expected)


class Runner(Pool):
    """Collects what the units find."""

    def __init__(self, units: list[Unit], workers: int, timeout: float, folder: Path) -> None:
        self.found: list[Difference] = []  # and not expected
        self.differences = 0
        self.late = 0
        self.checked = 0
        self._known = read_known()
        super().__init__(units, workers, timeout, folder / "workers.log", run_unit)

    def title(self, unit: Unit) -> str:
        return unit.name

    def finish(self, job: Job, result: Result | None) -> None:
        for what in job.deaths.values():
            self._add(Difference(job.unit.name, "any", what))
        if result is not None:
            self.checked += result.checked
            for difference in result.differences:
                self._add(difference)

    def _add(self, difference: Difference) -> None:
        text = f"{difference.name} {difference.mutation}: {difference.reason}"
        if difference.is_late:
            self.late += 1
            print(text, flush=True)
            return
        self.differences += 1
        if not any(line.covers(difference) for line in self._known):
            self.found.append(difference)
            print(f"not expected: {text}", flush=True)


@dataclasses.dataclass(frozen=True)
class Known:
    """A line of known_differences.txt: patterns for overload and mutation, and the reason."""

    overload: str
    mutation: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        return (
            fnmatch.fnmatchcase(difference.name, self.overload)
            and fnmatch.fnmatchcase(difference.mutation, self.mutation)
            and not difference.reason.startswith(("crash", "hang"))
        )


def read_known(path: Path = KNOWN) -> list[Known]:
    known = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            fields = line.split(maxsplit=2)
            if len(fields) != 3:
                raise ValueError(f"{path.name}:{number}: expected overload, mutation and reason")
            known.append(Known(*fields))
    return known


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz.aten", description=__doc__)
    parser.add_argument("--draws", type=int, default=3, help="of each way to spoil a call")
    parser.add_argument("--operator", default="*", help="a pattern, e.g. 'add*' or 'add.Tensor'")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one call")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "fuzz")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    torch.set_num_threads(1)
    start = time.monotonic()
    names = [n for n in seeds.overloads() if fnmatch.fnmatchcase(n, options.operator)]
    units = [Unit(name, options.draws) for name in names]
    runner = Runner(units, options.workers, options.timeout, options.out)
    runner.run()
    print(
        f"{len(names)} overloads, {runner.checked} calls, {runner.differences} differences,"
        f" {len(runner.found)} of them not expected, {runner.late} late errors;"
        f" {time.monotonic() - start:.0f} s"
    )
    return 1 if runner.found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
