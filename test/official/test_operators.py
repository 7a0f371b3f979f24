"""PyTorch's OpInfo database through the wheel, forward, against the CPU.

Each entry has a process of its own: after an error on the device the wheel is of no use.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import softcann

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("queue", ["0", "1"])
def test_operators_equal_the_cpu(queue: str) -> None:
    command = [
        *(os.environ["SOFTNPU_OFFICIAL_PYTHON"], "-W", "ignore", "-m", "conformance.runner"),
        *("--kinds", "forward", "--dtypes", "float32", "--samples", "2", "--fresh"),
        *("--expected", str(HERE / "expected_failures.txt")),
        *("--out", str(ROOT / "build" / "official" / f"operators-{queue}")),
    ]
    done = subprocess.run(
        command,
        env={
            **softcann.environment(),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TASK_QUEUE_ENABLE": queue,
        },
        cwd=ROOT / "test",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
