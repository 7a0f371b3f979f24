"""Profiling that a file switches on."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest
import torch

from torch_npu.profiler import dynamic_profile

_moments = itertools.count(1)


@pytest.fixture(autouse=True)
def _fresh_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic_profile, "_state", dynamic_profile._DynamicProfile())


def write_config(folder: Path, **changes: object) -> None:
    """Writes the file, at a time of its own: clocks of file systems are coarse."""
    path = folder / "profiler_config.json"
    path.write_text(json.dumps({"prof_dir": str(folder / "traces"), "analyse": True, **changes}))
    later = path.stat().st_mtime + next(_moments)
    os.utime(path, (later, later))


def traces(folder: Path) -> list[Path]:
    return sorted((folder / "traces").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json"))


def run_steps(count: int) -> None:
    x = torch.ones(4, device="npu")
    for _ in range(count):
        dynamic_profile.step()
        x + 1


@pytest.mark.covers(
    "torch_npu.profiler.dynamic_profile.init",
    "torch_npu.profiler.dynamic_profile.step",
)
def test_a_written_file_starts_a_profile(tmp_path: Path, read_trace) -> None:
    dynamic_profile.init(str(tmp_path))
    run_steps(3)
    write_config(tmp_path, start_step=5, active=2, metadata={"run": {"id": 7}})
    run_steps(3)
    assert traces(tmp_path) == []
    run_steps(2)
    [trace] = traces(tmp_path)
    assert sum(e["name"] == "aclnnAdds" for e in read_trace(trace) if e["cat"] == "kernel") == 2
    assert json.loads(trace.read_text())["run"] == {"id": 7}
    run_steps(3)
    write_config(tmp_path, start_step=-1, activities=["CPU"])
    run_steps(2)
    assert len(traces(tmp_path)) == 2


def test_init_writes_a_file_to_edit_that_starts_nothing(tmp_path: Path) -> None:
    dynamic_profile.init(str(tmp_path))
    assert json.loads((tmp_path / "profiler_config.json").read_text())["active"] == 1
    run_steps(2)
    assert [path.name for path in tmp_path.iterdir()] == ["profiler_config.json"]


@pytest.mark.covers("torch_npu.profiler.dynamic_profile.start")
def test_start_needs_no_step(tmp_path: Path) -> None:
    write_config(tmp_path, active=1)
    dynamic_profile.init(str(tmp_path))
    dynamic_profile.start(str(tmp_path / "profiler_config.json"))
    with pytest.raises(RuntimeError, match="running already"):
        dynamic_profile.start()
    run_steps(1)
    assert len(traces(tmp_path)) == 1
    dynamic_profile.start()
    run_steps(1)
    assert len(traces(tmp_path)) == 2


@pytest.mark.covers("torch_npu.profiler.dynamic_profile.set_state")
def test_the_count_of_steps_can_go_on(tmp_path: Path) -> None:
    dynamic_profile.init(str(tmp_path))
    write_config(tmp_path, start_step=101)
    dynamic_profile.set_state({"cur_step": 100})
    run_steps(2)
    assert len(traces(tmp_path)) == 1
    with pytest.raises(ValueError, match="cur_step"):
        dynamic_profile.set_state({"cur_step": -1})


def test_a_step_that_has_passed_is_said(tmp_path: Path) -> None:
    dynamic_profile.init(str(tmp_path))
    run_steps(3)
    write_config(tmp_path, start_step=2)
    with pytest.warns(UserWarning, match="start_step is 2"):
        run_steps(1)
    run_steps(2)
    assert traces(tmp_path) == []


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"actve": 1}', '{"activities": ["GPU"]}', '{"active": 0}']
)
def test_a_file_with_an_error_is_said_and_ignored(tmp_path: Path, text: str) -> None:
    dynamic_profile.init(str(tmp_path))
    write_config(tmp_path)
    path = tmp_path / "profiler_config.json"
    path.write_text(text)
    with pytest.warns(UserWarning, match=r"profiler_config\.json' is not used"):
        run_steps(1)
    run_steps(2)
    assert traces(tmp_path) == []


def test_only_the_listed_ranks_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dynamic_profile.init(str(tmp_path))
    for rank, expected in (("1", 0), ("2", 1)):
        monkeypatch.setenv("RANK", rank)
        write_config(tmp_path, start_step=-1, is_rank=True, rank_list=[2])
        run_steps(2)
        assert len(traces(tmp_path)) == expected


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a folder"):
        dynamic_profile.init(str(tmp_path / "no"))
    with pytest.raises(RuntimeError, match="init"):
        dynamic_profile.step()
    with pytest.raises(RuntimeError, match="init"):
        dynamic_profile.start()
