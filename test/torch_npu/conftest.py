"""What the tests of the Python package share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run_python() -> RunPython:
    """Runs code in a fresh interpreter that imports nothing by itself and has no CANN configured.

    Keyword arguments are environment variables.
    """

    def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ASCEND_", "SOFTNPU_"))
        }
        environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        environment.update(variables)
        return subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            timeout=570,
            check=False,
        )

    return run


@pytest.fixture
def read_trace() -> Callable[[Path], list[dict[str, Any]]]:
    """Reads the events of a chrome trace that have a duration."""

    def read(path: Path) -> list[dict[str, Any]]:
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        return [event for event in events if event.get("ph") == "X"]

    return read
