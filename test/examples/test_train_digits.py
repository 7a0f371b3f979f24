"""The demo, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run_demo(out: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "examples/train_digits.py", "--out", str(out), *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "report.json").read_text())


@pytest.fixture(scope="module")
def npu_report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run_demo(tmp_path_factory.mktemp("demo"), "--device", "npu")


def test_reaches_97_percent_on_the_first_npu(npu_report: dict[str, Any]) -> None:
    assert npu_report["device"] == "npu:0"
    assert npu_report["test_accuracy"] >= 0.97


def test_no_operator_falls_back_to_the_cpu(npu_report: dict[str, Any]) -> None:
    assert npu_report["fallback_operators"] == []


def test_losses_equal_the_cpus_to_float32_rounding(npu_report: dict[str, Any]) -> None:
    assert npu_report["greatest_loss_difference"] < 1e-4


def test_times_both_devices(npu_report: dict[str, Any]) -> None:
    assert npu_report["seconds_npu"] > 0
    assert npu_report["seconds_cpu"] > 0


def test_runs_on_the_cpu_alone_and_draws_the_curve(tmp_path: Path) -> None:
    report = run_demo(tmp_path, "--device", "cpu", "--epochs", "2")
    assert report["device"] == "cpu"
    assert report["seconds_npu"] is None
    assert (tmp_path / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
