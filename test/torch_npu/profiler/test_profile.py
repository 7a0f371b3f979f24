"""`torch_npu.profiler.profile`, as programs for Ascend use it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import torch

from torch_npu import profiler
from torch_npu.profiler import ProfilerActivity, profile, profiler_interface, schedule


def ran_on_npu(prof: profile, name: str) -> int:
    events = [event for event in prof.events() if event.name == name]
    return sum(e.device_type == torch.autograd.DeviceType.PrivateUse1 for e in events)


@pytest.mark.covers("torch_npu.profiler.profile", "torch_npu.profiler.profiler.profile")
def test_host_and_device_are_recorded_by_default(work) -> None:
    with profile() as prof:
        work()
    assert ran_on_npu(prof, "aclnnMm") == 1
    [mm] = [row for row in prof.key_averages() if row.key == "aten::mm"]
    assert mm.self_device_time_total > 0


@pytest.mark.covers(
    "torch_npu.profiler.ProfilerActivity.CPU",
    "torch_npu.profiler.ProfilerActivity.NPU",
    traced=False,
)
def test_either_profiler_takes_the_activities(work) -> None:
    for kind in (profile, torch.profiler.profile):
        with kind(activities=[ProfilerActivity.CPU]) as prof:
            work()
        assert ran_on_npu(prof, "aclnnMm") == 0
        with kind(activities=[ProfilerActivity.NPU, ProfilerActivity.CPU]) as prof:
            work()
        assert ran_on_npu(prof, "aclnnMm") == 1


@pytest.mark.covers(
    "torch_npu.profiler.supported_activities",
    "torch_npu.profiler.profiler.supported_activities",
    "torch_npu.profiler.profiler_interface.supported_activities",
)
def test_supported_activities_are_a_subset_of_pytorchs() -> None:
    supported = profiler_interface.supported_activities()
    assert supported == {ProfilerActivity.CPU, ProfilerActivity.NPU}
    assert supported <= torch.profiler.supported_activities()


@pytest.mark.covers(
    "torch_npu.profiler.profile.start",
    "torch_npu.profiler.profile.step",
    "torch_npu.profiler.profile.stop",
)
def test_schedule_chooses_the_steps(work) -> None:
    seen = []
    prof = profile(
        schedule=schedule(wait=1, warmup=1, active=2, repeat=2),
        on_trace_ready=lambda ready: seen.append(
            (ready.step_num, ran_on_npu(ready, "aclnnMm"), steps_of(ready))
        ),
    )
    prof.start()
    for _ in range(10):
        work()
        prof.step()
    prof.stop()
    assert seen == [
        (4, 2, {"ProfilerStep#2", "ProfilerStep#3"}),
        (8, 2, {"ProfilerStep#6", "ProfilerStep#7"}),
    ]


def steps_of(prof: profile) -> set[str]:
    names = {event.trace_name or "" for event in prof.events()}
    return {name for name in names if name.startswith("ProfilerStep#")}


@pytest.mark.covers(
    "torch_npu.profiler.profile.get_trace_id",
    "torch_npu.profiler.profile.set_custom_trace_id_callback",
)
def test_traces_are_named_by_the_callback() -> None:
    with profile(custom_trace_id_callback=lambda: "first") as prof:
        assert prof.get_trace_id() == "first"
    prof = profile()
    prof.set_custom_trace_id_callback(lambda: "second")
    assert prof.get_trace_id() is None
    with prof:
        assert prof.get_trace_id() == "second"


# In processes of their own: PyTorch keeps callbacks for a child thread, and later profiles of the
# process show operators several times.
CHILD_THREAD = """
import threading, warnings
import torch, torch_npu
from torch_npu.profiler import profile

x = torch.ones(8, device="npu")
caught = []

def child():
    x - 1
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        profile.enable_profiler_in_child_thread(record_shapes=RECORD_SHAPES)
    caught.extend(found)
    x * 2
    profile.disable_profiler_in_child_thread()
    x / 2

with profile() as prof:
    thread = threading.Thread(target=child)
    thread.start()
    thread.join()
print(sorted(row.key for row in prof.key_averages()))
print([str(warning.message) for warning in caught])
"""


@pytest.mark.covers(
    "torch_npu.profiler.profile.enable_profiler_in_child_thread",
    "torch_npu.profiler.profile.disable_profiler_in_child_thread",
    traced=False,
)
def test_a_child_thread_can_take_part(run_python) -> None:
    result = run_python(CHILD_THREAD.replace("RECORD_SHAPES", "False"))
    assert result.returncode == 0, result.stderr
    assert "'aten::mul'" in result.stdout
    assert "'aten::sub'" not in result.stdout
    assert "'aten::div'" not in result.stdout
    assert "without record_shapes" not in result.stdout


def test_a_child_thread_learns_what_the_profile_lacks(run_python) -> None:
    result = run_python(CHILD_THREAD.replace("RECORD_SHAPES", "True"))
    assert result.returncode == 0, result.stderr
    assert "without record_shapes" in result.stdout


def test_a_child_thread_without_a_profile_is_refused() -> None:
    with pytest.raises(RuntimeError, match="no profiler is recording"):
        thread_error(profile.enable_profiler_in_child_thread)


def thread_error(function) -> None:
    """Runs in a thread; raises what it raised."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_stacks_are_written_with_the_devices_time(work, tmp_path: Path) -> None:
    with profile(with_stack=True) as prof:
        work()
    for metric in ("self_cpu_time_total", "self_npu_time_total"):
        prof.export_stacks(str(tmp_path / metric), metric)
        assert "test_profile.py" in (tmp_path / metric).read_text(), metric
    with pytest.raises(ValueError, match="metric"):
        prof.export_stacks(str(tmp_path / "no"), "self_cuda_time_total")


@pytest.mark.parametrize("activities", [[], [torch.profiler.ProfilerActivity.CUDA], ["NPU"]])
def test_other_activities_are_refused(activities: list) -> None:
    with pytest.raises(ValueError, match="activities must be"):
        profile(activities=activities)


def test_use_cuda_is_said_to_have_no_effect() -> None:
    with pytest.warns(UserWarning, match="use_cuda has no effect"):
        profile(use_cuda=True)


def test_pytorchs_experimental_options_are_taken() -> None:
    config = torch.profiler._ExperimentalConfig(capture_overload_names=True)
    x = torch.ones(2, device="npu")
    with profile(experimental_config=config) as prof:
        x + x
    assert "Tensor" in {e.overload_name for e in prof.events() if e.name == "aten::add"}


def test_an_exception_ends_the_profile(work) -> None:
    def fail(prof: profile) -> None:
        with prof:
            work()
            raise KeyError

    prof = profile()
    with pytest.raises(KeyError):
        fail(prof)
    assert ran_on_npu(prof, "aclnnMm") == 1
    with profiler.profile() as prof:
        work()
    assert ran_on_npu(prof, "aclnnMm") == 1
