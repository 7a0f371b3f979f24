"""Worker processes that run units of work, and live or die by them.

Workers are forked from a process that has loaded what they need and started no device, so that a
crash costs milliseconds. A worker that says nothing for the time limit counts as hung; time in
which the parent did not run either, because the machine was busy or stood still, does not count.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import multiprocessing
import os
import signal
import time
import warnings
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import torch

DEATHS_PER_UNIT = 5
TICK = 1.0  # seconds between two looks at silent workers

# Runs a unit, but for the samples of these numbers, and sends At() as it goes.
RunUnit = Callable[[Any, frozenset[int], Connection], Any]


@dataclasses.dataclass(frozen=True)
class At:
    """Sent before each step: the sample, and the device that it is about to run on."""

    sample: int
    device: str


@dataclasses.dataclass
class Job:
    """A unit, and the samples that brought a worker down so far, with what happened."""

    unit: Any
    deaths: dict[int, str] = dataclasses.field(default_factory=dict)
    left_out: set[int] = dataclasses.field(default_factory=set)


def serve(connection: Connection, log: Path, run_unit: RunUnit) -> None:
    """A worker's life: takes (unit, samples to leave out) until it is given None, or the parent is
    gone. It may die or hang at any sample: the parent knows from the last message where that was,
    and gives the unit to a new worker with that sample set aside."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(False)
    while True:
        try:
            work = connection.recv()
        except EOFError:
            return
        if work is None:
            return
        connection.send(run_unit(*work, connection))


class Worker:
    """The parent's side of one worker process."""

    def __init__(self, log: Path, run_unit: RunUnit) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(self.connection, theirs, log, run_unit)
        )
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


def _serve(parents: Connection, connection: Connection, log: Path, run_unit: RunUnit) -> None:
    parents.close()
    serve(connection, log, run_unit)


class Pool:
    """Hands units to workers until all are done. What that gives is for a subclass to collect."""

    def __init__(
        self, units: list[Any], workers: int, timeout: float, log: Path, run_unit: RunUnit
    ) -> None:
        self._jobs = deque(Job(unit) for unit in units)
        self._count = len(units)
        self._timeout = timeout
        self._log = log
        self._run_unit = run_unit
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        self._workers = [self._new_worker() for _ in range(min(workers, max(1, len(units))))]

    def title(self, unit: Any) -> str:
        raise NotImplementedError

    def finish(self, job: Job, result: Any) -> None:
        """A unit's end: what run_unit returned, or None if it was given up; see also job.deaths."""
        raise NotImplementedError

    def is_spent(self, result: Any) -> bool:
        """Whether the worker that gave this is of no use for another unit."""
        return False

    def progress(self) -> None:
        """Once a minute."""
        print(f"{self._count - len(self._jobs)} of {self._count} units", flush=True)

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
                self.progress()
        for worker in self._workers:
            worker.close()

    def _new_worker(self) -> Worker:
        return Worker(self._log, self._run_unit)

    def _swap(self, worker: Worker) -> Worker:
        fresh = self._new_worker()
        self._workers[self._workers.index(worker)] = fresh
        return fresh

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
        self.finish(worker.job, message)
        if self._jobs and self.is_spent(message):
            worker.close()
            worker = self._swap(worker)
        self._give_next(worker)

    def _replace(self, worker: Worker, what: str) -> None:
        """The unit goes on in a new worker, without the sample that brought this one down."""
        job, at = worker.job, worker.at
        assert job is not None
        worker.connection.close()
        fresh = self._swap(worker)
        job.left_out.add(at.sample)
        if at.device == job.unit.device and at.sample >= 0:
            job.deaths[at.sample] = f"{what} at sample {at.sample}"
        print(f"{self.title(job.unit)}: {what} on {at.device}, sample {at.sample}", flush=True)
        if at.sample < 0 or len(job.left_out) >= DEATHS_PER_UNIT:
            self.finish(job, None)
            self._give_next(fresh)
        else:
            fresh.give(job)
