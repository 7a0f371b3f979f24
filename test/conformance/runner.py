"""Runs PyTorch's OpInfo database for `npu` against the CPU.

cd test && python -m conformance.runner --samples 3
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from . import kinds, report, routes
from .processes import Job, Pool
from .worker import Tally, Unit, run_unit

ROOT = Path(__file__).parents[2]
EXPECTED_FAILURES = Path(__file__).with_name("expected_failures.txt")
FEW_DTYPES = (torch.float32, torch.int64, torch.bfloat16, torch.complex64)


class Runner(Pool):
    """Collects what units come to."""

    def __init__(
        self, units: list[Unit], workers: int, timeout: float, folder: Path, official: bool = False
    ) -> None:
        from torch.testing._internal.common_methods_invocations import op_db

        self._entries = op_db
        self._official = official
        self._folder = folder
        self.records: list[report.Record] = []
        self.fallbacks: Counter[str] = collections.Counter()
        super().__init__(units, workers, timeout, folder / "workers.log", run_unit)

    def progress(self) -> None:
        super().progress()
        report.write(self._folder, self.records, self.fallbacks)

    def is_spent(self, result: Tally) -> bool:
        return self._official and (result.failed or result.raised)

    def finish(self, job: Job, result: Tally | None) -> None:
        for what in job.deaths.values():
            self._record(job.unit, routes.OWN, 1, 0, what)
        if result is not None:
            for route, (count, passed, reason) in result.routes.items():
                self._record(job.unit, route, count, passed, reason)
            self.fallbacks.update(result.fallbacks)

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

    def title(self, unit: Unit) -> str:
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
    if options.dtypes == ["all"]:
        return supported or FEW_DTYPES[:1]
    if options.dtypes:
        return [dtype for dtype in supported if str(dtype).split(".")[-1] in options.dtypes]
    if not options.samples and kind != "layout":  # which is the same in every dtype
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
        help="e.g. float32 int64; or all, where float32 stands for entries that name none",
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
