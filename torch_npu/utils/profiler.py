"""Profiling one step of a training script."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import torch

from torch_npu.profiler import (
    ProfilerLevel,
    _ExperimentalConfig,
    profile,
    tensorboard_trace_handler,
)

_TORCH = "TORCH"
_ASCEND = "ASCEND_PROFILER"

# Options of older versions of PyTorch's profiler that mean nothing any more.
_IDLE = {"use_cuda", "use_npu_simple"}
_KEYWORDS = {
    _TORCH: {
        *_IDLE,
        "enabled",
        "profile_memory",
        "record_shapes",
        "use_cpu",
        "use_kineto",
        "with_flops",
        "with_stack",
    },
    _ASCEND: {"activities", "profile_memory", "record_shapes", "schedule", "with_stack"},
}

_T = TypeVar("_T")


def Singleton(cls: Callable[..., _T]) -> Callable[..., _T]:  # noqa: N802
    """A class decorator: every call gives the object that the first one made."""
    made: list[_T] = []

    def get(*args: Any, **kwargs: Any) -> _T:
        if not made:
            made.append(cls(*args, **kwargs))
        return made[0]

    get.__name__, get.__doc__ = cls.__name__, cls.__doc__
    return get


@Singleton
class Profile:
    """Profiles step `start_step` of a program, writes what it finds to `save_path`, and exits.

    `start()` and `end()` stand around each step. `profile_type` chooses the profiler: 'TORCH'
    writes a chrome trace, 'ASCEND_PROFILER' what `torch_npu.profiler.tensorboard_trace_handler`
    writes; with any other nothing is done. With 'TORCH', `use_npu=False` leaves the device out.
    Further keywords go to the profiler. There is one object per process: later calls return the
    first one's.

    Raises `ValueError` for a keyword that the profiler does not have, or for a path that cannot be
    made.
    """

    def __init__(
        self,
        start_step: int = 10,
        save_path: str = "./npu_profiling",
        profile_type: str | None = None,
        use_npu: bool = True,
        record_shape: bool = True,
        experimental_config: _ExperimentalConfig | None = None,
        **kwargs: Any,
    ) -> None:
        self.start_step = start_step
        self.save_path = save_path
        self.profile_type = profile_type
        self.enable = profile_type in _KEYWORDS
        self.step_count = 0
        self._is_open = False
        if profile_type not in _KEYWORDS:
            return
        unknown = set(kwargs) - _KEYWORDS[profile_type]
        if unknown:
            known = sorted(_KEYWORDS[profile_type])
            raise ValueError(f"Profile: {sorted(unknown)} are none of the keywords {known}")
        try:
            Path(save_path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"Profile: cannot make the folder '{save_path}': {error}") from error
        self.prof: Any
        if profile_type == _TORCH:
            self.prof = _torch_profile(use_npu, kwargs)
        else:
            self.prof = profile(
                on_trace_ready=tensorboard_trace_handler(save_path),
                experimental_config=experimental_config
                or _ExperimentalConfig(ProfilerLevel.Level2),
                **{"record_shapes": record_shape, **kwargs},
            )

    def start(self) -> None:
        """Begins a step. Raises `RuntimeError` if the last one has not ended."""
        if self._is_open:
            raise RuntimeError("Profile.start: end() must come first")
        self._is_open = True
        self.step_count += 1
        if self.enable and self.step_count == self.start_step:
            self.prof.__enter__()

    def end(self) -> None:
        """Ends a step; ends the program with `SystemExit` after the one that was profiled.

        Raises `RuntimeError` without a `start()`.
        """
        if not self._is_open:
            raise RuntimeError("Profile.end: start() must come first")
        self._is_open = False
        if self.enable and self.step_count == self.start_step:
            self.prof.__exit__(None, None, None)
            if self.profile_type == _TORCH:
                name = f"torch_prof_{time.strftime('%Y%m%d%H%M%S')}.json"
                self.prof.export_chrome_trace(str(Path(self.save_path, name)))
            sys.exit()


def _torch_profile(use_npu: bool, keywords: dict[str, Any]) -> torch.autograd.profiler.profile:
    idle = sorted(_IDLE & set(keywords))
    if idle:
        warnings.warn(f"Profile: {idle} have no effect on npu", stacklevel=4)
    kept = {name: value for name, value in keywords.items() if name not in _IDLE}
    return torch.autograd.profiler.profile(
        use_device="npu" if use_npu else None, **{"use_kineto": True, **kept}
    )
