"""Which steps are profiled."""

from __future__ import annotations

import pytest
import torch.profiler

from torch_npu.profiler import ProfilerAction, schedule
from torch_npu.profiler.scheduler import Schedule


@pytest.mark.covers("torch_npu.profiler.schedule", "torch_npu.profiler.scheduler.Schedule")
@pytest.mark.parametrize("skip_first_wait", [0, 1])
@pytest.mark.parametrize("repeat", [0, 2])
def test_actions_are_those_of_pytorchs_schedule(repeat: int, skip_first_wait: int) -> None:
    options = {
        "wait": 2,
        "warmup": 1,
        "active": 3,
        "repeat": repeat,
        "skip_first": 4,
        "skip_first_wait": skip_first_wait,
    }
    ours, theirs = schedule(**options), torch.profiler.schedule(**options)
    assert [ours(step) for step in range(40)] == [theirs(step) for step in range(40)]


def test_warmup_may_be_left_out() -> None:
    record_twice = Schedule(1, 2)
    assert [record_twice(step) for step in range(3)] == [
        ProfilerAction.NONE,
        ProfilerAction.RECORD,
        ProfilerAction.RECORD_AND_SAVE,
    ]


@pytest.mark.covers(
    "torch_npu.profiler.ProfilerAction", "torch_npu.profiler.scheduler.ProfilerAction"
)
def test_actions_are_pytorchs_own() -> None:
    assert ProfilerAction["RECORD"] is torch.profiler.ProfilerAction.RECORD
    assert len({ProfilerAction.NONE, ProfilerAction(0), ProfilerAction.WARMUP}) == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"wait": -1, "active": 1}, ValueError),
        ({"wait": 0, "active": 0}, ValueError),
        ({"wait": 0, "active": 1, "repeat": -1}, ValueError),
        ({"wait": 0, "active": 1.5}, TypeError),
    ],
)
def test_senseless_numbers_are_refused(arguments: dict, error: type[Exception]) -> None:
    with pytest.raises(error, match="schedule: "):
        schedule(**arguments)


def test_negative_step_is_refused() -> None:
    with pytest.raises(ValueError, match="step"):
        schedule(0, 1)(-1)
