"""Profiling one step of a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from torch_npu.utils.profiler import Profile, Singleton

PROGRAM = """
import torch, torch_npu
from torch_npu.utils.profiler import Profile
x = torch.ones(2, device="npu")
for step in range(5):
    profile = Profile(start_step=2, save_path={path!r}, profile_type={kind!r}, **{options!r})
    profile.start()
    x + step
    profile.end()
    print(step)
"""


@pytest.mark.covers("torch_npu.utils.profiler.Singleton")
def test_singleton_makes_one_object() -> None:
    @Singleton
    class Counter:
        def __init__(self, first: int) -> None:
            self.first = first

    assert Counter(1) is Counter(2)
    assert Counter(3).first == 1


@pytest.mark.parametrize("options", [{}, {"use_npu": False}])
def test_torchs_profiler_writes_a_trace_of_the_step_and_exits(
    tmp_path: Path, run_python, read_trace, options: dict
) -> None:
    path = tmp_path / "made"
    result = run_python(PROGRAM.format(path=str(path), kind="TORCH", options=options))
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr
    [trace] = path.glob("torch_prof_*.json")
    kinds = [event["cat"] for event in read_trace(trace)]
    assert kinds.count("kernel") == (0 if options else 1)


def test_the_other_profiler_writes_a_folder(tmp_path: Path, run_python) -> None:
    program = PROGRAM.format(path=str(tmp_path), kind="ASCEND_PROFILER", options={})
    result = run_python(program)
    assert (result.returncode, result.stdout) == (0, "0\n"), result.stderr
    assert list(tmp_path.glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))


def test_other_types_do_nothing(tmp_path: Path, run_python) -> None:
    result = run_python(PROGRAM.format(path=str(tmp_path), kind=None, options={}))
    assert result.stdout.split() == ["0", "1", "2", "3", "4"], result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.covers("torch_npu.utils.profiler.Profile")
def test_start_and_end_take_turns_and_keywords_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="schedule"):
        Profile(save_path=str(tmp_path), profile_type="TORCH", schedule=None)
    profile = Profile(save_path=str(tmp_path))
    with pytest.raises(RuntimeError, match=r"start\(\) must come first"):
        profile.end()
    profile.start()
    with pytest.raises(RuntimeError, match=r"end\(\) must come first"):
        profile.start()
    profile.end()
    assert Profile() is profile
