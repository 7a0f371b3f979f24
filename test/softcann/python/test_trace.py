"""SOFTCANN_TRACE: a line for each task that a stream ran."""

from __future__ import annotations

import json
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


MARKS = """
import ctypes, softcann
acl = ctypes.CDLL(str(softcann.toolkit_path() / "lib64" / "libmsprofiler.so"))
acl.aclprofCreateStamp.restype = ctypes.c_void_p
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p

def stamp(text):
    made = ctypes.c_void_p(acl.aclprofCreateStamp())
    assert acl.aclprofSetStampTraceMessage(made, text, len(text)) == 0
    return made

assert acl.aclInit(None) == 0 and acl.aclrtSetDevice(1) == 0
codes = [acl.aclprofMark(stamp(b"a\\tmark")), acl.aclprofPush(stamp(b"outer"))]
codes += [acl.aclprofPush(stamp(b"inner")), acl.aclprofPop(), acl.aclprofPop(), acl.aclprofPop()]
number = ctypes.c_uint32()
codes += [acl.aclprofRangeStart(stamp(b"range"), ctypes.byref(number))]
codes += [acl.aclprofRangeStop(number), acl.aclprofRangeStop(number)]
codes += [acl.aclprofMarkEx(b"in stream", ctypes.c_size_t(9), None), acl.aclrtSynchronizeDevice()]
codes += [acl.aclprofMark(None), acl.aclprofSetStampTraceMessage(stamp(b"x"), b"", 0)]
acl.aclprofDestroyStamp(stamp(b"gone"))
acl.aclprofMark(stamp(b"last"))
print(codes, (acl.aclGetRecentErrMsg() or b"").decode(), sep="|")
"""


def run_marks(**variables: str) -> tuple[list[int], str]:
    """The codes of the calls, and the last error text."""
    done = subprocess.run(
        [sys.executable, "-c", MARKS],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    codes, text = done.stdout.strip().split("|")
    return json.loads(codes), text


def test_marks_and_ranges_have_lines(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    bad = 100000
    codes, _ = run_marks(SOFTCANN_TRACE=str(path))
    assert codes == [0, 0, 0, 0, 0, bad, 0, 0, bad, 0, 0, bad, bad]
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    by_name = {line[0]: line[1:] for line in lines}
    # The task that carries a mark has a line of its own, behind that of the mark.
    names = ["a mark", "inner", "outer", "range", "in stream", "aclprofMarkEx", "last"]
    assert [line[0] for line in lines] == names
    assert by_name["a mark"][:2] == ["-1", "-1"]
    assert by_name["in stream"][0] == "1"
    assert int(by_name["outer"][3]) >= int(by_name["inner"][3])


def test_marks_that_nobody_takes_are_refused() -> None:
    not_run = 100043
    codes, text = run_marks(SOFTCANN_TRACE="")
    assert codes[:9] == [not_run] * 9
    assert "set SOFTCANN_TRACE" in text


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
