"""SOFTCANN_TRACE: a line for each task that a stream ran."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import torch, torch_npu
x = torch.ones(3, device="npu:1")
(x + x).cpu()
try:
    x[torch.tensor([7], device="npu:1")].cpu()
except Exception:
    pass
"""


def run(path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "SOFTCANN_TRACE": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_executed_function_has_a_line_with_place_time_and_code(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    assert run(str(path)).returncode == 0
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    (add,) = (line for line in lines if line[0] == "aclnnAdd")
    _, device, stream, begin, duration, code = add
    assert (device, code) == ("1", "0")
    assert int(stream) >= 0
    assert int(begin) > 0
    assert int(duration) >= 0
    (index,) = (line for line in lines if line[0] == "aclnnIndex")
    assert index[-1] != "0"


def test_several_processes_append_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    for _ in range(2):
        run(str(path))
    names = [line.split("\t")[0] for line in path.read_text().splitlines()]
    assert names.count("aclnnAdd") == 2


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = str(tmp_path / "missing" / "trace")
    done = run(path)
    assert done.returncode != 0
    assert f'SOFTCANN_TRACE="{path}" is not valid' in done.stderr
    assert "No such file or directory" in done.stderr
