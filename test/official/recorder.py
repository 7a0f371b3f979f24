"""A plugin of pytest (`-p official.recorder`) that notes which aclnn functions each test executed.

SOFTCANN_TRACE is set for the whole run, and SOFTNPU_FUNCTIONS names a file that gets a line of JSON
for each test: its name, whether it passed, and the functions. The wheel is of no use after an
error: where SOFTNPU_FORK is set, each test runs in a process forked for it, which takes longer.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from _pytest.runner import runtestprotocol
from official.traced import Trace

_trace = Trace(Path(os.environ["SOFTCANN_TRACE"]))
_out = Path(os.environ["SOFTNPU_FUNCTIONS"])


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    if not os.environ.get("SOFTNPU_FORK"):
        _run(item, nextitem)
        return True
    process = os.fork()
    if process == 0:
        _run(item, None)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status != 0:
        _write(item, False, [], f"crashes: status {status}")
    return True


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    _trace.executed()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    reason = "".join(str(report.longrepr) for report in reports if not report.passed)
    try:
        torch.npu.synchronize()
    except RuntimeError as error:
        reason += str(error)
    _write(item, not reason, sorted(_trace.executed()), reason[-600:])


def _write(item: pytest.Item, passed: bool, functions: list[str], reason: str) -> None:
    case = "pytest:" + item.nodeid.removeprefix("test/")
    line = {"case": case, "equal": passed, "functions": functions, "reason": reason}
    with _out.open("a") as file:
        print(json.dumps(line), file=file)
