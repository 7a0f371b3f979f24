"""PyTorch's own profiler with npu: times and places of the device's work."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile, record_function, supported_activities

BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


def kernels(prof, name: str) -> list:
    """The device's own events of that name."""
    events = [event for event in prof.events() if event.name == name]
    return [one for one in events if one.device_type == torch.autograd.DeviceType.PrivateUse1]


def operator(prof, name: str):
    """The averages of one operator of the host."""
    rows = [row for row in prof.key_averages() if row.key == name]
    [row] = [row for row in rows if row.device_type == torch.autograd.DeviceType.CPU]
    return row


def test_each_operator_has_the_time_of_its_own_work(work) -> None:
    with profile(activities=BOTH) as prof:
        work()
    mm = operator(prof, "aten::mm")
    assert mm.count == 1
    [kernel] = kernels(prof, "aclnnMm")
    assert kernel.time_range.elapsed_us() > 0
    assert mm.self_device_time_total == pytest.approx(kernel.time_range.elapsed_us(), abs=0.01)
    assert operator(prof, "aten::matmul").device_time_total == mm.device_time_total
    assert operator(prof, "aten::matmul").self_device_time_total == 0
    table = prof.key_averages().table(sort_by="self_device_time_total")
    assert "Self NPU" in table
    assert "aclnnMm" in table


def test_copies_are_told_from_kernels(work, tmp_path: Path, read_trace) -> None:
    with profile(activities=BOTH) as prof:
        work()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = read_trace(tmp_path / "trace.json")
    [upload] = [event for event in events if event["name"] == "Memcpy HtoD"]
    [download] = [event for event in events if event["name"] == "Memcpy DtoH"]
    assert upload["cat"] == download["cat"] == "gpu_memcpy"
    assert upload["args"]["bytes"] == 64 * 64 * 4
    assert download["args"]["bytes"] == 4
    [mm] = [event for event in events if event["name"] == "aclnnMm"]
    assert mm["cat"] == "kernel"
    assert (mm["pid"], mm["tid"]) == (0, 0)


def test_times_lie_between_the_call_and_the_wait(tmp_path: Path, read_trace) -> None:
    x = torch.ones(512, 512, device="npu")
    torch.npu.synchronize()
    with profile(activities=BOTH) as prof:
        for _ in range(5):
            with record_function("step"):
                x @ x
                torch.npu.synchronize()
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = read_trace(tmp_path / "trace.json")
    steps = sorted((e for e in events if e["name"] == "step"), key=lambda event: event["ts"])
    ran = sorted((e for e in events if e["name"] == "aclnnMm"), key=lambda event: event["ts"])
    assert len(steps) == len(ran) == 5
    # On an idle machine the clocks meet to some microseconds. On a busy one they are apart by time
    # slices, but all along the trace by as much: some shift puts every kernel into its step.
    pairs = list(zip(steps, ran, strict=True))
    least = max(step["ts"] - kernel["ts"] for step, kernel in pairs)
    most = min(step["ts"] + step["dur"] - kernel["ts"] - kernel["dur"] for step, kernel in pairs)
    assert least < most + 100
    assert -10_000_000 < least < 10_000_000


def test_streams_and_devices_have_rows_of_their_own(tmp_path: Path, read_trace) -> None:
    streams = [torch.npu.Stream("npu:0"), torch.npu.Stream("npu:1")]
    tensors = [torch.ones(8, device=stream.device) for stream in streams]
    with profile(activities=BOTH) as prof:
        for stream, tensor in zip(streams, tensors, strict=True):
            with torch.npu.stream(stream):
                tensor + 1
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    events = read_trace(tmp_path / "trace.json")
    places = {
        (e["args"]["device"], e["args"]["stream"]) for e in events if e.get("cat") == "kernel"
    }
    assert places == {(stream.device_index, stream.stream_id) for stream in streams}
    names = (tmp_path / "trace.json").read_text()
    assert '"npu:0"' in names
    assert '"npu:1"' in names


def test_backward_is_timed_in_autograds_thread() -> None:
    x = torch.ones(32, 32, device="npu", requires_grad=True)
    with profile(activities=BOTH) as prof:
        (x @ x).sum().backward()
    backward = [row for row in prof.key_averages() if row.key == "MmBackward0"]
    assert max(row.device_time_total for row in backward) > 0
    assert len(kernels(prof, "aclnnMm")) == 3


def test_memory_of_the_device_is_counted() -> None:
    torch.npu.synchronize()
    with profile(activities=BOTH, profile_memory=True) as prof:
        kept = torch.empty(1 << 18, device="npu")
    assert operator(prof, "aten::empty").device_memory_usage == kept.nbytes


def test_shapes_and_stacks_are_recorded() -> None:
    x = torch.ones(4, 6, device="npu")
    x + x
    config = torch.profiler._ExperimentalConfig(verbose=True)
    with profile(
        activities=BOTH, record_shapes=True, with_stack=True, experimental_config=config
    ) as prof:
        x + x
    rows = prof.key_averages(group_by_input_shape=True)
    assert [row.input_shapes[:2] for row in rows if row.key == "aten::add"] == [[[4, 6], [4, 6]]]
    assert any("test_device_times" in frame for e in prof.events() for frame in e.stack or [])


def test_a_profile_of_the_device_alone(work) -> None:
    with profile(activities=[ProfilerActivity.PrivateUse1]) as prof:
        work()
    assert kernels(prof, "aclnnMm")


def test_a_profile_without_the_device_has_no_device_events(work) -> None:
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        work()
    assert kernels(prof, "aclnnMm") == []
    assert operator(prof, "aten::mm").count == 1


def test_profiles_follow_each_other(work) -> None:
    for _ in range(3):
        with profile(activities=BOTH) as prof:
            work()
        assert len(kernels(prof, "aclnnMm")) == 1


def test_work_of_a_thread_without_a_profile_belongs_to_no_operator() -> None:
    x = torch.ones(8, device="npu")
    with profile(activities=BOTH) as prof:
        thread = threading.Thread(target=lambda: (x + 1, torch.npu.synchronize()))
        thread.start()
        thread.join()
    assert len(kernels(prof, "aclnnAdds")) == 1
    assert [row for row in prof.key_averages() if row.key == "aten::add"] == []


def test_an_operator_that_is_refused_leaves_no_event() -> None:
    x = torch.ones(2, 3, device="npu")
    with profile(activities=BOTH) as prof, pytest.raises(RuntimeError):
        x @ x
    assert kernels(prof, "aclnnMm") == []


def test_a_failure_on_the_device_is_raised_and_ends_the_profile() -> None:
    x = torch.ones(3, device="npu")
    with profile(activities=BOTH) as prof:
        with pytest.raises((IndexError, RuntimeError), match="out of bounds"):
            x[torch.tensor([7], device="npu")].cpu()
        x + 1
    assert kernels(prof, "aclnnAdds")


def test_npu_is_a_supported_activity() -> None:
    assert ProfilerActivity.PrivateUse1 in supported_activities()


@pytest.mark.parametrize("use_kineto", [False, True])
def test_autograd_profiler_times_operators(use_kineto: bool, work) -> None:
    with torch.autograd.profiler.profile(use_device="npu", use_kineto=use_kineto) as prof:
        work()
    [mm] = [row for row in prof.key_averages() if row.key == "aten::mm"]
    assert mm.self_device_time_total > 0


def test_recording_starts_no_device(run_python) -> None:
    code = """
import torch, torch_npu
from torch.profiler import ProfilerActivity, profile
with torch.autograd.profiler.profile(use_device="npu", use_kineto=False):
    torch.ones(2) + 1
    print(torch_npu._C._npu_hasPrimaryContext(0))
"""
    result = run_python(code)
    assert result.stdout == "False\n", result.stderr


def test_bare_marks_say_what_to_use() -> None:
    config = torch.autograd.ProfilerConfig(
        torch.autograd.ProfilerState.PRIVATEUSE1,
        False,
        False,
        False,
        False,
        False,
        torch._C._profiler._ExperimentalConfig(),
        "",
    )
    with pytest.raises(NotImplementedError, match="record_function"):
        torch.autograd._enable_profiler(config, set())
    assert not torch._C._autograd._profiler_enabled()
