"""The folders that traces are written to."""

from __future__ import annotations

import csv
import json
import os
import re
import socket
import threading
from pathlib import Path

import pytest
import torch

import torch_npu
from torch_npu import profiler

FORMS = ("kernel_details.csv", "op_statistic.csv", "operator_details.csv", "trace_view.json")


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def only_folder(parent: Path) -> Path:
    [folder] = parent.iterdir()
    return folder


@pytest.mark.covers(
    "torch_npu.profiler.tensorboard_trace_handler",
    "torch_npu.profiler.profiler.tensorboard_trace_handler",
)
def test_each_trace_has_a_folder_with_results(tmp_path: Path, work, read_trace) -> None:
    with profiler.profile(
        activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
        schedule=profiler.schedule(wait=0, warmup=0, active=1, repeat=2),
        experimental_config=profiler._ExperimentalConfig(),
        on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path / "new")),
        record_shapes=True,
    ) as prof:
        for _ in range(2):
            work()
            prof.step()
    folders = sorted((tmp_path / "new").iterdir())
    assert len(folders) == 2
    for folder in folders:
        name = rf"{re.escape(socket.gethostname())}_{os.getpid()}_\d{{17}}_ascend_pt"
        assert re.fullmatch(name, folder.name)
        output = folder / "ASCEND_PROFILER_OUTPUT"
        assert sorted(path.name for path in output.iterdir()) == sorted(FORMS)
        assert "aclnnMm" in {event["name"] for event in read_trace(output / "trace_view.json")}
        assert not (folder / "FRAMEWORK").exists()


def test_tables_agree_with_the_trace(tmp_path: Path, work, read_trace) -> None:
    handler = profiler.tensorboard_trace_handler(str(tmp_path), worker_name="mine")
    with profiler.profile(on_trace_ready=handler, record_shapes=True) as prof:
        work()
        work()
    folder = only_folder(tmp_path)
    assert folder.name.startswith(f"mine_{os.getpid()}_")
    output = folder / "ASCEND_PROFILER_OUTPUT"
    traced = [e for e in read_trace(output / "trace_view.json") if e["name"] == "aclnnMm"]
    traced.sort(key=lambda event: event["ts"])
    rows = [r for r in table(output / "kernel_details.csv") if r["Name"] == "aclnnMm"]
    assert [float(row["Duration(us)"]) for row in rows] == [
        pytest.approx(event["dur"], abs=0.001) for event in traced
    ]
    [row] = [r for r in table(output / "op_statistic.csv") if r["OP Type"] == "aclnnMm"]
    assert row["Count"] == "2"
    total = sum(event["dur"] for event in traced)
    assert float(row["Total Time(us)"]) == pytest.approx(total, abs=0.01)
    operators = table(output / "operator_details.csv")
    matmuls = [row for row in operators if row["Name"] == "aten::matmul"]
    mms = [row for row in operators if row["Name"] == "aten::mm"]
    assert len(matmuls) == len(mms) == 2
    assert "[64, 64]" in mms[0]["Input Shapes"]
    for outer, inner in zip(matmuls, mms, strict=True):
        assert outer["Device Self Duration(us)"] == "0.000"
        assert outer["Device Total Duration(us)"] == inner["Device Self Duration(us)"] != "0.000"
        assert float(outer["Host Total Duration(us)"]) > float(inner["Host Total Duration(us)"])
    [average] = [row for row in prof.key_averages() if row.key == "aten::mm"]
    own = sum(float(row["Device Self Duration(us)"]) for row in mms)
    assert own == pytest.approx(average.self_device_time_total, abs=0.1)


def test_metadata_is_written_beside_the_trace(tmp_path: Path) -> None:
    handler = profiler.tensorboard_trace_handler(str(tmp_path))
    with profiler.profile(on_trace_ready=handler) as prof:
        prof.add_metadata("model", "a name")
        prof.add_metadata_json("layers", "[1, 2]")
    folder = only_folder(tmp_path)
    metadata = json.loads((folder / "profiler_metadata.json").read_text())
    assert metadata["model"] == "a name"
    assert metadata["layers"] == [1, 2]
    trace = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    assert trace["layers"] == [1, 2]
    info = json.loads((folder / "profiler_info.json").read_text())
    assert info["torch_npu_version"] == torch_npu.__version__
    assert info["config"]["profiler_level"] == "Level0"


@pytest.mark.covers("torch_npu.profiler.profiler.analyse")
def test_results_can_be_worked_out_later(tmp_path: Path, work) -> None:
    handler = profiler.tensorboard_trace_handler(str(tmp_path), analyse_flag=False)
    for _ in range(2):
        with profiler.profile(on_trace_ready=handler):
            work()
    folders = sorted(tmp_path.iterdir())
    assert not any((folder / "ASCEND_PROFILER_OUTPUT").exists() for folder in folders)
    profiler.profiler.analyse(str(folders[0]))
    assert (folders[0] / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").exists()
    assert not (folders[1] / "ASCEND_PROFILER_OUTPUT").exists()
    profiler.profiler.analyse(str(tmp_path), max_process_number=2, export_type=["text"])
    for form in FORMS:
        assert (folders[1] / "ASCEND_PROFILER_OUTPUT" / form).stat().st_size > 0


def test_analysing_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="_ascend_pt"):
        profiler.analyse(str(tmp_path))
    with pytest.raises(ValueError, match="max_process_number"):
        profiler.analyse(str(tmp_path), max_process_number=0)


def test_the_unprocessed_trace_may_be_kept(tmp_path: Path, work) -> None:
    handler = profiler.tensorboard_trace_handler(str(tmp_path))
    config = profiler._ExperimentalConfig(data_simplification=False)
    with profiler.profile(on_trace_ready=handler, experimental_config=config):
        work()
    folder = only_folder(tmp_path)
    kept = [path for path in (folder / "FRAMEWORK").iterdir() if path.suffix == ".json"]
    assert len(kept) == 1
    assert (folder / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").exists()


def test_results_may_come_in_the_background(tmp_path: Path, work) -> None:
    before = set(threading.enumerate())
    handler = profiler.tensorboard_trace_handler(str(tmp_path), async_mode=True)
    with profiler.profile(on_trace_ready=handler):
        work()
    for thread in set(threading.enumerate()) - before:
        thread.join(60)
    assert (only_folder(tmp_path) / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").exists()


def test_traces_go_to_the_work_path_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCEND_WORK_PATH", str(tmp_path))
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler()):
        torch.ones(1, device="npu")
    assert only_folder(tmp_path / "profiling_data").name.endswith("_ascend_pt")
    monkeypatch.delenv("ASCEND_WORK_PATH")
    monkeypatch.chdir(tmp_path / "profiling_data")
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler()):
        torch.ones(1, device="npu")
    assert len(list(Path.cwd().iterdir())) == 2
