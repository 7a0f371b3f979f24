"""PyTorch's OpInfo database through the wheel, forward, against the CPU: three samples an entry.

What `expected_failures.txt` names, the wheel itself refuses or does otherwise. By default each
entry runs in one dtype, float32 where it has that; marked `full`, in all of them.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import softcann

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ENTRIES = 702  # of PyTorch 2.13


def run(name: str, *options: str, **variables: str) -> Path:
    """The report of a run without failures other than expected ones."""
    out = ROOT / "build" / "official" / name
    command = [
        *(os.environ["SOFTNPU_OFFICIAL_PYTHON"], "-W", "ignore", "-m", "conformance.runner"),
        *("--official", "--kinds", "forward", "--samples", "3", "--out", str(out), *options),
    ]
    done = subprocess.run(
        command,
        env={**softcann.environment(), "PYTHONDONTWRITEBYTECODE": "1", **variables},
        cwd=ROOT / "test",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return out / "report.json"


def run_all(dtypes: str, queue: str) -> Path:
    expected = str(HERE / "expected_failures.txt")
    name = f"operators-{dtypes}-{queue}"
    return run(name, "--dtypes", dtypes, "--expected", expected, TASK_QUEUE_ENABLE=queue)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("queue", ["0", "1"])
def test_operators_equal_the_cpu(queue: str) -> None:
    rows = json.loads(run_all("nearest", queue).read_text())
    named = {(row["operator"], row["variant"]) for row in rows}
    wrong = {(row["operator"], row["variant"]) for row in rows if row["passed"] < row["samples"]}
    assert len(named) == ENTRIES
    assert len(named - wrong) >= 690


@pytest.mark.full
@pytest.mark.timeout(3 * 3600)
@pytest.mark.parametrize("queue", ["0", "1"])
def test_operators_equal_the_cpu_in_every_dtype(queue: str) -> None:
    run_all("all", queue)


@pytest.mark.parametrize("operator", ["gelu", "max_pool[12]d"])
def test_the_compatible_implementation_has_no_exceptions(operator: str, tmp_path: Path) -> None:
    none = tmp_path / "none.txt"
    none.touch()
    options = ("--operator", f"nn.functional.{operator}", "--expected", str(none))
    run("compatible", "--dtypes", "all", *options, TORCH_NPU_USE_COMPATIBLE_IMPL="1")
