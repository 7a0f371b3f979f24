"""The examples with other people's libraries, run as a user runs them."""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "examples" / "ecosystem"


def run_script(*command: str, out: Path) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    environment = {
        **os.environ,
        # Nothing is fetched: the machine may have no network.
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(FOLDER),
    }
    done = subprocess.run(
        [sys.executable, *command, "--out", str(out)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, json.loads(out.read_text()) if out.exists() else {}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "script",
    ["accelerate_loop", "lightning_module", "peft_lora", "timm_resnet", "transformers_trainer"],
)
def test_trains_on_npu_as_on_the_cpu(script: str, tmp_path: Path) -> None:
    path = str(FOLDER / f"{script}.py")
    launcher = [str(FOLDER / "torchvision_from_pypi.py")] if script == "timm_resnet" else []
    done, report = run_script(*launcher, path, out=tmp_path / "report.json")
    assert done.returncode == 0, done.stderr
    assert report["faults"] == []
    assert report["fallbacks"] == {}
    assert report["losses"][-1] < report["losses"][0] / 2
    assert report["answers"]
    assert report["greatest_difference"] < 1e-3


@pytest.fixture
def against_cpu(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("against_cpu")


@pytest.mark.parametrize(
    ("npu", "cpu", "fallbacks", "fault"),
    [
        (([4.0, 1.0], [5.0]), ([4.0, 1.0], [5.0]), {}, None),
        (([4.0, 3.0], [5.0]), ([4.0, 3.0], [5.0]), {}, "the loss went from 4.0 to 3.0"),
        (([4.0, 1.0], [5.0]), ([4.0, 1.1], [5.0]), {}, "1 values differ"),
        (([4.0, 1.0], [5.0]), ([4.0, 1.0], [6.0]), {}, "(5.0, 6.0)"),
        (([4.0, 1.0], [math.nan]), ([4.0, 1.0], [0.0]), {}, "(nan, 0.0)"),
        (([4.0, 1.0], [5.0]), ([4.0, 1.0], [5.0]), {"aten::_foobar": 1}, "aten::_foobar"),
    ],
)
def test_the_check_against_the_cpu_finds_faults(
    against_cpu: ModuleType,
    npu: tuple[list[float], list[float]],
    cpu: tuple[list[float], list[float]],
    fallbacks: dict[str, int],
    fault: str | None,
) -> None:
    outcomes = against_cpu.Outcome(*npu), against_cpu.Outcome(*cpu)
    found = against_cpu._faults(*outcomes, fallbacks, tolerance=1e-4)
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


def test_a_fault_is_shown_and_fails_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "from against_cpu import Outcome, main\n"
        "def train(device):\n"
        "    # The operator of PyTorch's own tests that only the CPU has.\n"
        "    torch._foobar(torch.ones(2, device=device))\n"
        "    return Outcome([2.0, 0.5], [])\n"
        "main(train)\n"
    )
    done, report = run_script(str(script), out=tmp_path / "report.json")
    assert done.returncode == 1
    assert "operators that ran on the CPU" in done.stderr
    assert report["fallbacks"] == {"aten::_foobar": 1}


def test_a_training_that_fails_on_the_cpu_ends_the_check(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from against_cpu import Outcome, main\n"
        "def train(device):\n"
        "    assert device == 'npu', 'not here'\n"
        "    return Outcome([2.0, 0.5], [])\n"
        "main(train)\n"
    )
    done, report = run_script(str(script), out=tmp_path / "report.json")
    assert done.returncode != 0
    assert "the training on the CPU ended with status 1" in done.stderr
    assert report == {}
