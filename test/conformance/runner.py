"""Runs PyTorch's OpInfo database for `npu` against the CPU.

    cd test && python -m conformance.runner --samples 3

Workers are forked from a process that has loaded the database and started no device, so that a
crash costs milliseconds. A worker that says nothing for the time limit counts as hung; time in
which this process did not run either, because the machine was busy or stood still, does not count.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import fnmatch
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter, deque
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

from . import kinds, report, routes
from .worker import At, Tally, Unit, serve

ROOT = Path(__file__).parents[2]
EXPECTED_FAILURES = Path(__file__).with_name("expected_failures.txt")
FEW_DTYPES = (torch.float32, torch.int64, torch.bfloat16, torch.complex64)
DEATHS_PER_UNIT = 5
TICK = 1.0  # seconds between two looks at silent workers


@dataclasses.dataclass
class Job:
    """A unit, and the samples that brought a worker down so far, with what happened."""

    unit: Unit
    deaths: dict[int, str] = dataclasses.field(default_factory=dict)
    left_out: set[int] = dataclasses.field(default_factory=set)


class Worker:
    """The parent's side of one worker process."""

    def __init__(self, log: Path) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(self.connection, theirs, log))
        self._process.start()
        theirs.close()
        self.job: Job | None = None
        self.at = At(-1, "cpu")
        self.silent = 0.0  # seconds

    def give(self, job: Job) -> None:
        self.job, self.at, self.silent = job, At(-1, "cpu"), 0.0
        self.connection.send((job.unit, frozenset(job.left_out)))

    def kill(self) -> None:
        """Leaves every thread's Python stack in the log."""
        pid = self._process.pid
        assert pid is not None
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.5)
        self._process.kill()
        self._process.join()

    def exit_code(self) -> str:
        self._process.join()
        code = self._process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def close(self) -> None:
        self.connection.send(None)
        self._process.join(timeout=20)
        if self._process.is_alive():
            self._process.kill()


def _serve(parents: Connection, connection: Connection, log: Path) -> None:
    parents.close()
    serve(connection, log)


class Runner:
    """Hands units to workers until all are done."""

    def __init__(
        self, units: list[Unit], workers: int, timeout: float, folder: Path, official: bool = False
    ) -> None:
        from torch.testing._internal.common_methods_invocations import op_db

        self._entries = op_db
        self._jobs = deque(Job(unit) for unit in units)
        self._count = len(units)
        self._timeout = timeout
        self._official = official
        self._folder = folder
        self._log = folder / "workers.log"
        folder.mkdir(parents=True, exist_ok=True)
        self._log.unlink(missing_ok=True)
        self._workers = [Worker(self._log) for _ in range(min(workers, max(1, len(units))))]
        self.records: list[report.Record] = []
        self.fallbacks: Counter[str] = collections.Counter()

    def run(self) -> None:
        for worker in self._workers:
            self._give_next(worker)
        said = looked = time.monotonic()
        while busy := [worker for worker in self._workers if worker.job is not None]:
            ready = wait([worker.connection for worker in busy], timeout=TICK)
            passed = min(time.monotonic() - looked, 2 * TICK)
            looked = time.monotonic()
            for worker in busy:
                if worker.connection in ready:
                    self._receive(worker)
                    continue
                worker.silent += passed
                if worker.silent > self._timeout:
                    worker.kill()
                    self._replace(worker, f"hang: nothing for {self._timeout:.0f} s")
            if time.monotonic() - said > 60:
                said = time.monotonic()
                print(f"{self._count - len(self._jobs)} of {self._count} units", flush=True)
                report.write(self._folder, self.records, self.fallbacks)
        for worker in self._workers:
            worker.close()

    def _give_next(self, worker: Worker) -> None:
        if self._jobs:
            worker.give(self._jobs.popleft())
        else:
            worker.job = None

    def _receive(self, worker: Worker) -> None:
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self._replace(worker, f"crash: {worker.exit_code()}")
            return
        worker.silent = 0.0
        if isinstance(message, At):
            worker.at = message
            return
        assert worker.job is not None
        self._finish(worker.job, message)
        if self._official and (message.failed or message.raised) and self._jobs:
            worker.close()
            fresh = Worker(self._log)
            self._workers[self._workers.index(worker)] = fresh
            worker = fresh
        self._give_next(worker)

    def _replace(self, worker: Worker, what: str) -> None:
        """The unit goes on in a new worker, without the sample that brought this one down."""
        job, at = worker.job, worker.at
        assert job is not None
        worker.connection.close()
        fresh = Worker(self._log)
        self._workers[self._workers.index(worker)] = fresh
        job.left_out.add(at.sample)
        if at.device == job.unit.device and at.sample >= 0:
            job.deaths[at.sample] = f"{what} at sample {at.sample}"
        print(f"{self._title(job.unit)}: {what} on {at.device}, sample {at.sample}", flush=True)
        if at.sample < 0 or len(job.left_out) >= DEATHS_PER_UNIT:
            self._finish(job, Tally())
            self._give_next(fresh)
        else:
            fresh.give(job)

    def _finish(self, job: Job, tally: Tally) -> None:
        for what in job.deaths.values():
            self._record(job.unit, routes.OWN, 1, 0, what)
        for route, (count, passed, reason) in tally.routes.items():
            self._record(job.unit, route, count, passed, reason)
        self.fallbacks.update(tally.fallbacks)

    def _record(self, unit: Unit, route: str, count: int, passed: int, reason: str) -> None:
        entry = self._entries[unit.entry]
        dtype = str(unit.dtype).removeprefix("torch.")
        self.records.append(
            report.Record(
                entry.name,
                entry.variant_test_name,
                dtype,
                unit.kind,
                count,
                passed,
                route,
                reason,
            )
        )

    def _title(self, unit: Unit) -> str:
        return f"{self._entries[unit.entry].full_name} {unit.kind} {unit.dtype}"


def select(options: argparse.Namespace) -> list[Unit]:
    """Of few samples: forward in four dtypes, the other kinds in float32 or the nearest to it."""
    from torch.testing._internal.common_methods_invocations import op_db

    units = []
    for index, entry in enumerate(op_db):
        if not fnmatch.fnmatchcase(entry.full_name, options.operator):
            continue
        supported = sorted(entry.supported_dtypes("cpu"), key=str)
        for kind in options.kinds:
            for dtype in _dtypes(supported, kind, options):
                if kinds.applies(entry, kind, dtype):
                    units.append(
                        Unit(index, dtype, kind, options.device, options.samples, options.official)
                    )
    return units


def _dtypes(supported: list[torch.dtype], kind: str, options: argparse.Namespace) -> Any:
    few = [dtype for dtype in FEW_DTYPES if dtype in supported] or supported[:1]
    if options.dtypes == ["nearest"]:
        return few[:1] or FEW_DTYPES[:1]
    if options.dtypes == ["all"]:
        return supported or FEW_DTYPES[:1]
    if options.dtypes:
        return [dtype for dtype in supported if str(dtype).split(".")[-1] in options.dtypes]
    if not options.samples:
        return supported
    return few if kind == "forward" else few[:1]


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("--samples", type=int, default=0, help="per entry, dtype and kind; 0: all")
    parser.add_argument("--device", default="npu", choices=["npu", "cpu"])
    parser.add_argument("--operator", default="*", help="a pattern, e.g. 'nn.functional.*'")
    parser.add_argument(
        "--dtypes",
        nargs="*",
        default=[],
        help="e.g. float32 int64; or nearest: float32, where an entry has it; or all. With the last"
        " two float32 stands for entries that name no dtype for the CPU",
    )
    parser.add_argument("--kinds", nargs="*", default=list(kinds.KINDS), choices=kinds.KINDS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one sample")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "conformance")
    parser.add_argument(
        "--official",
        action="store_true",
        help="npu is the official torch_npu: a new process after each failure, and the leeway that"
        " leeway.py describes",
    )
    parser.add_argument(
        "--expected", type=Path, default=EXPECTED_FAILURES, help="the file of expected failures"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    torch.set_num_threads(1)
    start = time.monotonic()
    runner = Runner(
        select(options), options.workers, options.timeout, options.out, options.official
    )
    runner.run()
    report.write(options.out, runner.records, runner.fallbacks)
    print(report.summary(runner.records))
    print(f"{time.monotonic() - start:.0f} s; report: {options.out / 'report.json'}")
    expectations = report.read_expectations(options.expected)
    failures = report.unexpected(runner.records, expectations)
    for record in failures:
        print(f"not expected: {record.title}: {record.passed}/{record.samples}: {record.reason}")
    stale = [] if options.samples else report.needless(runner.records, expectations)
    for line in stale:
        print(f"expected to fail, but passes: {line.operator} {line.kind} {line.dtype}")
    return 1 if failures or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
