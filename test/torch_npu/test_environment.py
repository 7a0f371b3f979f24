"""Environment variables, each in a process of its own."""

from __future__ import annotations

import os

import pytest

_FAILS = """
import torch, torch_npu
x, bad = torch.ones(4, device="npu"), torch.tensor([9], device="npu")
torch.npu.synchronize()
try:
    x.index_select(0, bad)
except (RuntimeError, IndexError) as error:
    print("at the call")
else:
    try:
        torch.npu.synchronize()
    except (RuntimeError, IndexError) as error:
        print("at the wait")
"""


@pytest.mark.covers("torch_npu_public_env: ASCEND_LAUNCH_BLOCKING")
@pytest.mark.parametrize(("value", "where"), [("0", "at the wait"), ("1", "at the call")])
def test_launch_blocking_raises_where_the_operator_was_called(
    run_python, value: str, where: str
) -> None:
    result = run_python(_FAILS, ASCEND_LAUNCH_BLOCKING=value)
    assert result.stdout == f"{where}\n", result.stderr


@pytest.mark.covers("torch_npu_public_env: ASCEND_GLOBAL_LOG_LEVEL")
@pytest.mark.parametrize(("value", "shown"), [("1", True), ("3", False)])
def test_log_level_says_what_the_runtime_shows(run_python, value: str, shown: bool) -> None:
    code = """
import ctypes, softcann
library = ctypes.CDLL(str(softcann.toolkit_path() / "lib64" / "libascendcl.so"))
library.aclAppLog(2, b"function", b"file", 7, b"a warning")
"""
    result = run_python(code, ASCEND_GLOBAL_LOG_LEVEL=value)
    assert ("a warning" in result.stderr) is shown, result.stderr
    assert result.returncode == 0, os.fspath(result.stderr)
