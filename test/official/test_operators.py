"""PyTorch's OpInfo database through the wheel, forward, in every dtype, against the CPU.

Three samples of each. What `expected_failures.txt` names, the wheel itself refuses or does
otherwise.
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
        *("--official", "--kinds", "forward", "--dtypes", "all", "--samples", "3"),
        *("--out", str(out), *options),
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


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("queue", ["0", "1"])
def test_operators_equal_the_cpu(queue: str) -> None:
    expected = str(HERE / "expected_failures.txt")
    report = run(f"operators-{queue}", "--expected", expected, TASK_QUEUE_ENABLE=queue)
    rows = json.loads(report.read_text())
    named = {(row["operator"], row["variant"]) for row in rows}
    failed = [row for row in rows if row["passed"] < row["samples"]]
    wrong = {(row["operator"], row["variant"]) for row in failed if row["dtype"] == "float32"}
    assert len(named) == ENTRIES
    assert len(named - wrong) >= 690


@pytest.mark.parametrize("operator", ["gelu", "max_pool[12]d"])
def test_the_compatible_implementation_has_no_exceptions(operator: str, tmp_path: Path) -> None:
    none = tmp_path / "none.txt"
    none.touch()
    options = ("--operator", f"nn.functional.{operator}", "--expected", str(none))
    run("compatible", *options, TORCH_NPU_USE_COMPATIBLE_IMPL="1")
