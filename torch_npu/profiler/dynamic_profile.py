"""Profiling that is switched on from outside while the program runs.

`init(folder)` before the training loop, `step()` in each of its steps. Whenever the folder's
`profiler_config.json` is written, the next steps are profiled as it says; `init` writes one with
the defaults if there is none. Its keys:

- `activities`: `["CPU", "NPU"]`; `record_shapes`, `profile_memory`, `with_stack`, `with_flops`,
  `with_modules`: as for `torch_npu.profiler.profile`; `experimental_config`: the same, with the
  names of the levels and metrics as strings;
- `warmup`, `active`: numbers of steps; `start_step`: the step to begin with (as `step()` counts, 1
  the first), -1 for the next one;
- `prof_dir`, `analyse`, `async_mode`: as for `tensorboard_trace_handler`; `metadata`: an object
  whose entries are added to the trace;
- `is_rank`, `rank_list`: with `is_rank`, only the ranks in the list profile.

A file that cannot be used is reported in a warning and changes nothing: a typing error must not end
a training.
"""

from __future__ import annotations

import atexit
import json
import os
import warnings
from pathlib import Path
from typing import Any

import torch.distributed

from torch_npu.profiler.experimental_config import AiCMetrics, ProfilerLevel, _ExperimentalConfig
from torch_npu.profiler.profiler import profile, tensorboard_trace_handler
from torch_npu.profiler.profiler_interface import ProfilerActivity
from torch_npu.profiler.scheduler import Schedule

__all__ = ["init", "set_state", "start", "step"]

_AT_NEXT_STEP = -1
_PROFILE_FLAGS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")

_DEFAULTS: dict[str, Any] = {
    "activities": ["CPU", "NPU"],
    "prof_dir": "./",
    "analyse": False,
    "async_mode": False,
    **dict.fromkeys(_PROFILE_FLAGS, False),
    "active": 1,
    "warmup": 0,
    "start_step": 0,
    "is_rank": False,
    "rank_list": [],
    "metadata": {},
    "experimental_config": {"profiler_level": "Level0", "aic_metrics": "AiCoreNone"},
}


class _Request:
    """What a configuration file asks for. Raises `ValueError` for what makes no sense."""

    def __init__(self, path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it must be a JSON object")
        unknown = sorted(set(content) - set(_DEFAULTS))
        if unknown:
            raise ValueError(f"unknown keys {unknown}")
        self._values = {**_DEFAULTS, **content}
        self.start_step: int = self._values["start_step"]
        self.steps: int = self._values["warmup"] + self._values["active"]
        self.profile = self._make_profile()

    def concerns_this_rank(self) -> bool:
        return not self._values["is_rank"] or _rank() in self._values["rank_list"]

    def begin(self) -> profile:
        """Starts the profile and returns it."""
        self.profile.start()
        for key, value in self._values["metadata"].items():
            self.profile.add_metadata_json(key, json.dumps(value))
        return self.profile

    def _make_profile(self) -> profile:
        values = self._values
        activities = [getattr(ProfilerActivity, name.upper()) for name in values["activities"]]
        options = dict(values["experimental_config"])
        for option, names in (("profiler_level", ProfilerLevel), ("aic_metrics", AiCMetrics)):
            if option in options:
                options[option] = getattr(names, options[option], options[option])
        return profile(
            activities=activities,
            schedule=Schedule(0, values["active"], warmup=values["warmup"], repeat=1),
            on_trace_ready=tensorboard_trace_handler(
                values["prof_dir"],
                analyse_flag=values["analyse"],
                async_mode=values["async_mode"],
            ),
            experimental_config=_ExperimentalConfig(**options),
            **{flag: values[flag] for flag in _PROFILE_FLAGS},
        )


class _DynamicProfile:
    """The state of the one program: its step, its file, and what runs or waits."""

    def __init__(self) -> None:
        self.step_number = 0
        self.path: Path | None = None
        self._seen: int | None = None
        self._waiting: _Request | None = None
        self._running: profile | None = None
        self._steps_left = 0

    def init(self, folder: Path) -> None:
        if not folder.is_dir():
            raise ValueError(f"dynamic_profile.init: '{folder}' is not a folder")
        self.path = folder / "profiler_config.json"
        if not self.path.exists():
            self.path.write_text(json.dumps(_DEFAULTS, indent=4), encoding="utf-8")
        self._seen = self.path.stat().st_mtime_ns

    def step(self) -> None:
        self.step_number += 1
        self._look_for_request()
        if self._running is not None:
            self._running.step()
            self._steps_left -= 1
            if self._steps_left == 0:
                self.stop()
        elif self._waiting is not None:
            self._begin_if_due(self._waiting)

    def start(self, path: Path | None) -> None:
        if self._running is not None:
            raise RuntimeError("dynamic_profile.start: a profile is running already")
        path = path or self.path
        if path is None:
            raise RuntimeError("dynamic_profile.start: give a config_path, or call init() first")
        request = _load(path)
        if request is not None and request.concerns_this_rank():
            self._begin(request)

    def stop(self) -> None:
        """Ends the running profile, if any."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()

    def _look_for_request(self) -> None:
        if self.path is None:
            raise RuntimeError("dynamic_profile.step: call dynamic_profile.init() first")
        try:
            written = self.path.stat().st_mtime_ns
        except FileNotFoundError:
            return
        if written != self._seen:
            self._seen = written
            request = _load(self.path)
            if request is not None and request.concerns_this_rank():
                self._waiting = request

    def _begin_if_due(self, request: _Request) -> None:
        if request.start_step in (_AT_NEXT_STEP, self.step_number):
            self._begin(request)
        elif request.start_step < self.step_number:
            self._waiting = None
            warnings.warn(
                f"dynamic_profile: start_step is {request.start_step}, but step {self.step_number} "
                "has begun; nothing is profiled",
                stacklevel=4,
            )

    def _begin(self, request: _Request) -> None:
        self._waiting = None
        self._steps_left = request.steps
        self._running = request.begin()


_state = _DynamicProfile()


def _load(path: Path) -> _Request | None:
    try:
        return _Request(path)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        warnings.warn(f"dynamic_profile: '{path}' is not used: {error}", stacklevel=5)
        return None


def _rank() -> int:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank()
    return int(os.environ.get("RANK", "0"))


def init(path: str) -> None:
    """Watches `profiler_config.json` in the folder `path` from now on.

    Raises `ValueError` if there is no such folder.
    """
    _state.init(Path(path))


def step() -> None:
    """Says that the next step begins. Raises `RuntimeError` before `init`."""
    _state.step()


def start(config_path: str | None = None) -> None:
    """Profiles from now on, as the file at `config_path` says, or else the one in init's folder.

    The file's `start_step` has no effect. Raises `RuntimeError` while a profile is running.
    """
    _state.start(Path(config_path) if config_path else None)


def set_state(state_step: dict[str, int]) -> None:
    """Sets the number of the current step to `state_step["cur_step"]`, as after a restart.

    Raises `ValueError` if that is no int or negative.
    """
    step_number = state_step.get("cur_step", 0)
    if not isinstance(step_number, int) or step_number < 0:
        raise ValueError(f"cur_step must be an int that is not negative, but got {step_number!r}")
    _state.step_number = step_number


# A program that ends in the middle of a profile still gets what was recorded.
atexit.register(_state.stop)
