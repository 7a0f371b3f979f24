"""Fourteen small models of transformers through the wheel, trained and generating as on the CPU.

They are those of our own torch_npu: the same tests run here with the wheel's Python.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import softcann

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "test" / "torch_npu" / "nn" / "test_models_of_transformers.py"


@pytest.mark.timeout(3700)
@pytest.mark.parametrize("queue", ["0", "1"])
def test_models_train_and_generate_as_on_the_cpu(queue: str) -> None:
    command = [
        *(os.environ["SOFTNPU_OFFICIAL_PYTHON"], "-W", "ignore", "-m", "pytest", str(TESTS)),
        *("-q", "--noconftest", "-c", os.devnull, "--rootdir", str(ROOT)),
        *("-p", "no:cacheprovider"),
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
        timeout=3600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert "14 passed" in done.stdout
