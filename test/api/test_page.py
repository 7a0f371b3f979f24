"""The page of the API is up to date, and its declarations mean something."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import torch

from api import names, page
from api.calls import CallTracer
from api.declarations import declared


def test_page_is_up_to_date() -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    assert written == page.text(), "run `python -m api.page` in test/"


def test_declared_names_are_known() -> None:
    known = {names.canonical(name) for name in names.downstream_names()}
    known |= set(names.official_names())
    assert [name for name in declared() if names.canonical(name) not in known] == []


def test_tracer_sees_functions_classes_methods_and_operators() -> None:
    with CallTracer() as tracer:
        torch.npu.current_device()
        torch.npu.Stream().query()
    assert tracer.has_called("torch_npu.npu.current_device")
    assert tracer.has_called("torch.npu.current_device")
    assert tracer.has_called("torch_npu.npu.Stream")
    assert tracer.has_called("torch_npu.npu.Stream.query")
    assert not tracer.has_called("torch_npu.npu.Stream.wait_stream")
    assert not tracer.has_called("torch_npu.npu.set_stream")


def test_a_claim_without_a_call_fails(tmp_path: Path) -> None:
    hooks = (page.TESTS / "conftest.py").read_text(encoding="utf-8")
    hooks = hooks.replace("Path(__file__).parent", f"Path({str(page.TESTS)!r})")
    tmp_path.joinpath("conftest.py").write_text(hooks, encoding="utf-8")
    tmp_path.joinpath("test_claims.py").write_text(
        """
import pytest, torch

@pytest.mark.covers("torch_npu.npu.current_device")
def test_honest():
    torch.npu.current_device()

@pytest.mark.covers("torch_npu.npu.current_device")
def test_idle():
    pass
""",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull]
    result = subprocess.run(
        [*command, f"--rootdir={tmp_path}", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=570,
        check=False,
    )
    assert "1 failed, 1 passed" in result.stdout, result.stdout + result.stderr
    assert "does not call them" in result.stdout
