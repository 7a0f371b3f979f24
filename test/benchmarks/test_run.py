"""The benchmark's own arithmetic, on the CPU and without regard to how fast anything is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks import case
from benchmarks.case import Case, Result, measure
from benchmarks.official import OfficialWheel
from benchmarks.run import line

ROOT = Path(__file__).parents[2]


def test_ratio_below_one_means_faster_than_the_cpu() -> None:
    assert Result("x", npu_us=2.0, cpu_us=4.0).ratio == 0.5


def test_rounds_alternate_and_each_ends_with_a_synchronisation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(case, "synchronise", lambda device: seen.append(f"sync {device}"))
    measure(Case("x", lambda device: lambda: seen.append(device)), "meta", 3, 1e-9)
    assert seen[-12:] == ["sync meta", "meta", "sync meta", "sync cpu", "cpu", "sync cpu"] * 2


def test_median_ignores_one_slow_round(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([1.0, 1.0, 9.0, 1.0, 1.0, 1.0])
    monkeypatch.setattr(case, "_calls_per_round", lambda *_: 1)
    monkeypatch.setattr(case.Local, "round", lambda *_: next(times))
    result = measure(Case("x", lambda device: lambda: None), "meta", 3, 1.0)
    assert result == Result("x", npu_us=1e6, cpu_us=1e6)


class Third:
    """A side that takes three seconds a call, whatever it is asked."""

    def round(self, count: int) -> float:
        return 3.0


def test_a_third_side_is_timed_beside_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case.Local, "round", lambda *_: 1.5)
    result = measure(Case("x", lambda device: lambda: None), "meta", 3, 1.0, Third())
    assert result == Result("x", npu_us=1.5e6, cpu_us=1.5e6, official_us=3e6)
    assert result.official_ratio == 0.5
    assert "3000000.00    0.50" in line(result)


def test_the_official_torch_npu_is_asked_for_its_rounds() -> None:
    """What a process that answers would, by the one at hand: any that imports torch_npu."""
    official = OfficialWheel(Path(sys.executable))
    official.prepare("x + y, 16 floats")
    assert official.round(2) > 0
    official.close()


def test_an_official_torch_npu_that_ends_is_an_error(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nread line\nexit 3\n")
    python.chmod(0o755)
    with pytest.raises(RuntimeError, match="ended with status 3"):
        OfficialWheel(python).prepare("x + y, 16 floats")


def test_report_is_a_list_with_both_times_and_their_ratio(tmp_path: Path) -> None:
    quickly = ["--only", "floats", "--rounds", "1", "--round-seconds", "0.001"]
    command = [sys.executable, "-m", "benchmarks.run", "--device", "cpu", *quickly]
    command += ["--out", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    rows = json.loads((tmp_path / "report.json").read_text())
    assert len(rows) == 3
    for row in rows:
        assert set(row) == {"name", "npu_us", "cpu_us", "ratio", "official_us", "official_ratio"}
        assert row["ratio"] == pytest.approx(row["npu_us"] / row["cpu_us"])


def test_every_case_runs_once_on_the_cpu() -> None:
    from benchmarks.cases import CASES

    assert len({each.name for each in CASES}) == len(CASES) >= 8
    for each in CASES:
        result = each.prepare("cpu")()
        assert result is None or isinstance(result, torch.Tensor)
