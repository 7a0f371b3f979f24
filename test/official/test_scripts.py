"""Each script in a process of its own, with the wheel's task queue off and on."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

import softcann

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SCRIPTS = sorted(path.name for path in (HERE / "scripts").glob("*.py") if path.stem != "check")


def official(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [os.environ["SOFTNPU_OFFICIAL_PYTHON"], "-W", "ignore", *arguments],
        env={**softcann.environment(), "PYTHONDONTWRITEBYTECODE": "1", **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )


@pytest.mark.parametrize("queue", ["0", "1"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_script(script: str, queue: str) -> None:
    done = official(str(HERE / "scripts" / script), TASK_QUEUE_ENABLE=queue)
    assert done.returncode == 0, done.stderr[-4000:]


def test_the_demo_reaches_97_percent_with_the_losses_of_the_cpu(tmp_path: Path) -> None:
    done = official("examples/train_digits.py", "--device", "npu", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["test_accuracy"] >= 0.97
    assert report["greatest_loss_difference"] < 1e-4
