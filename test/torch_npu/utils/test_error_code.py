"""The endings of error messages."""

from __future__ import annotations

import os
import re

import pytest

from torch_npu.utils._error_code import (
    ErrCode,
    dist_error,
    graph_error,
    ops_error,
    prof_error,
    pta_error,
)

_NUMBERS = {
    "SUCCESS": 0,
    "PARAM": 1,
    "TYPE": 2,
    "VALUE": 3,
    "PTR": 4,
    "INTERNAL": 5,
    "MEMORY": 6,
    "NOT_SUPPORT": 7,
    "NOT_FOUND": 8,
    "UNAVAIL": 9,
    "SYSCALL": 10,
    "TIMEOUT": 11,
    "PERMISSION": 12,
    "ACL": 100,
    "HCCL": 200,
    "GE": 300,
    "EXCEPT": 999,
}


def test_codes_have_their_numbers() -> None:
    assert {error.name: error.code for error in ErrCode} == _NUMBERS


@pytest.mark.parametrize(
    ("function", "number", "module"),
    [
        (pta_error, "00", "PTA"),
        (ops_error, "01", "OPS"),
        (dist_error, "02", "DIST"),
        (graph_error, "03", "GRAPH"),
        (prof_error, "04", "PROF"),
    ],
)
@pytest.mark.parametrize("error", [ErrCode.SUCCESS, ErrCode.PERMISSION, ErrCode.EXCEPT])
def test_ending_has_every_part(function, number: str, module: str, error: ErrCode) -> None:
    assert re.fullmatch(
        r"\n\[ERROR\] \d{4}-\d\d-\d\d-\d\d:\d\d:\d\d "
        rf"\(PID:{os.getpid()}, Device:-?\d+, RankID:-?\d+\) "
        rf"ERR{number}{error.code:03d} {module} {error.msg}",
        function(error),
    )


def test_rank_is_the_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "3")
    assert "RankID:3)" in pta_error(ErrCode.PARAM)


def test_reporting_starts_no_device(run_python) -> None:
    code = """
import torch_npu
from torch_npu.utils._error_code import ErrCode, pta_error
assert "Device:-1," in pta_error(ErrCode.PARAM)
assert not torch_npu.npu.is_initialized()
print("none")
"""
    result = run_python(code)
    assert result.stdout.endswith("none\n"), result.stderr
