"""The OpInfo database on npu: a few samples of each entry, or, marked `full`, all of them.

A process of its own runs the suite, so that an operator that crashes is a failure with a name.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
REPORT_KEYS = {"operator", "variant", "dtype", "kind", "samples", "passed", "route", "reason"}


def run_suite(*options: str, timeout: float) -> tuple[subprocess.CompletedProcess[str], list[Any]]:
    out = ROOT / "build" / "conformance"
    finished = subprocess.run(
        [sys.executable, "-m", "conformance.runner", "--out", str(out), *options],
        cwd=ROOT / "test",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )
    print(finished.stdout)
    return finished, json.loads((out / "report.json").read_text())


def share(report: list[Any], kind: str) -> float:
    rows = [row for row in report if row["kind"] == kind]
    return sum(row["passed"] for row in rows) / sum(row["samples"] for row in rows)


def check_marks(report: list[Any]) -> None:
    assert share(report, "forward") >= 0.995
    assert share(report, "backward") >= 0.99
    forward = [row for row in report if row["kind"] == "forward"]
    fell_back = sum(row["samples"] for row in forward if row["route"] == "fallback")
    assert fell_back <= 0.07 * sum(row["samples"] for row in forward)
    assert [row for row in report if row["reason"].startswith(("crash", "hang"))] == []


@pytest.mark.timeout(3600)
def test_a_few_samples_of_every_entry_agree_with_the_cpu() -> None:
    finished, report = run_suite("--samples", "3", "--timeout", "300", timeout=3540)
    assert all(set(row) == REPORT_KEYS for row in report)
    assert len({(row["operator"], row["variant"]) for row in report}) > 650
    check_marks(report)
    assert finished.returncode == 0, "see 'not expected' above"


@pytest.mark.full
@pytest.mark.timeout(4 * 3600)
def test_the_whole_database_agrees_with_the_cpu() -> None:
    finished, report = run_suite(timeout=4 * 3600 - 20)
    check_marks(report)
    assert finished.returncode == 0, "see 'not expected' and 'expected to fail' above"
