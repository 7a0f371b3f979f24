"""`profile`, and what becomes of its traces."""

from __future__ import annotations

import datetime
import json
import os
import socket
import threading
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import torch.profiler

from torch_npu import _C
from torch_npu.profiler import _results
from torch_npu.profiler.experimental_config import (
    ProfilerLevel,
    _ExperimentalConfig,
    export_types,
    warn_absent,
)
from torch_npu.profiler.profiler_interface import ProfilerActivity, supported_activities
from torch_npu.profiler.scheduler import ProfilerAction

__all__ = ["analyse", "profile", "supported_activities", "tensorboard_trace_handler"]

_WORKERS = max((os.cpu_count() or 2) // 2, 1)


class profile(torch.profiler.profile):
    """A `torch.profiler.profile` of the host's operators and the device's work.

    Without `activities` both are recorded. `experimental_config` takes this module's options or
    PyTorch's. Results are had as from PyTorch's class: `key_averages()`, `events()`,
    `export_chrome_trace(path)`, or through `on_trace_ready`.

    Raises `ValueError` for activities other than CPU and NPU.
    """

    _recording: ClassVar[profile | None] = None

    def __init__(
        self,
        *,
        activities: Iterable[torch.profiler.ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: (
            _ExperimentalConfig | torch.profiler._ExperimentalConfig | None
        ) = None,
        execution_trace_observer: Any = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        use_cuda: bool | None = None,
    ) -> None:
        asked = set(activities) if activities is not None else supported_activities()
        if not asked or not asked <= supported_activities():
            raise ValueError(
                "activities must be ProfilerActivity.CPU, ProfilerActivity.NPU or both, but got "
                f"{activities!r}"
            )
        if use_cuda is not None:
            warnings.warn("use_cuda has no effect on npu; use activities", stacklevel=2)
        if isinstance(experimental_config, torch.profiler._ExperimentalConfig):
            self.npu_config = _ExperimentalConfig()
            torch_config = experimental_config
        else:
            self.npu_config = experimental_config or _ExperimentalConfig()
            torch_config = self.npu_config.with_torch_options(with_stack)
        if self.npu_config.gc_detect_threshold is not None and not with_stack:
            warn_absent("gc_detect_threshold", "PyTorch sees garbage collections with_stack only")
        # An empty list asks PyTorch for none of an activity's kinds of events.
        chosen: list[Any] = list(asked)
        if self.npu_config.profiler_level == ProfilerLevel.Level_none:
            chosen = [{one: []} if one == ProfilerActivity.NPU else one for one in chosen]
        super().__init__(
            activities=chosen,
            schedule=schedule,
            on_trace_ready=on_trace_ready,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=torch_config,
            execution_trace_observer=execution_trace_observer,
            custom_trace_id_callback=custom_trace_id_callback,
        )

    def start(self) -> None:
        """Starts the first step's action."""
        super().start()

    def step(self) -> None:
        """Ends a step: the schedule says what the profiler does in the next one."""
        super().step()

    def stop(self) -> None:
        """Ends the profile; what it has recorded goes to `on_trace_ready`."""
        super().stop()

    def start_trace(self) -> None:
        super().start_trace()
        profile._recording = self

    def stop_trace(self) -> None:
        profile._recording = None
        super().stop_trace()

    def get_trace_id(self) -> str | None:
        """The identity of the current cycle's trace; `None` before the first."""
        trace_id: str | None = super().get_trace_id()
        return trace_id

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """Sets what names the traces of the cycles to come."""
        super().set_custom_trace_id_callback(callback)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Writes the stacks of the operators with their `self_cpu_time_total` or
        `self_npu_time_total`, in microseconds. Needs `with_stack=True`.
        """
        names = {
            "self_cpu_time_total": "self_cpu_time_total",
            "self_npu_time_total": "self_privateuse1_time_total",
        }
        if metric not in names:
            raise ValueError(f"metric must be one of {sorted(names)}, not {metric!r}")
        super().export_stacks(path, names[metric])

    @classmethod
    def enable_profiler_in_child_thread(
        cls,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
    ) -> None:
        """Adds the operators of the calling thread to the profile that the main thread records.

        That profile decides what is recorded of an operator: an option that it lacks has no effect
        here, which a warning says. Raises `RuntimeError` if no profile is recording. PyTorch keeps
        a callback of such a profile, on the CPU too: later profiles of the process show operators
        several times.
        """
        _C._npu_enableProfilerInChildThread()
        asked = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
        }
        lacking = [name for name, on in asked.items() if on and not getattr(cls._recording, name)]
        if cls._recording is not None and lacking:
            warnings.warn(
                f"the profile of the main thread was made without {', '.join(lacking)}; so is what "
                "it records of this thread",
                stacklevel=2,
            )

    @classmethod
    def disable_profiler_in_child_thread(cls) -> None:
        """Ends what `enable_profiler_in_child_thread` began in this thread."""
        _C._npu_disableProfilerInChildThread()


def tensorboard_trace_handler(
    dir_name: str | None = None,
    worker_name: str | None = None,
    analyse_flag: bool = True,
    async_mode: bool = False,
) -> Callable[[torch.profiler.profile], None]:
    """For `on_trace_ready`: writes each trace to a folder of its own below `dir_name`.

    The folder is named `WORKER_PID_TIME_ascend_pt`, where `worker_name` is by default the name of
    the host, and has the results in `ASCEND_PROFILER_OUTPUT` (see `analyse`). Without `dir_name`
    it lies in `$ASCEND_WORK_PATH/profiling_data` or the working directory. `analyse_flag=False`
    leaves the results to a later `analyse()`; with `async_mode` a thread works them out, for which
    the end of the program waits.
    """

    def handle(prof: torch.profiler.profile) -> None:
        folder = _new_folder(_parent_folder(dir_name), worker_name or socket.gethostname())
        config = getattr(prof, "npu_config", None) or _ExperimentalConfig()
        metadata = {key: json.loads(value) for key, value in prof._trace_metadata.items()}
        trace = _results.raw_trace(folder)
        trace.parent.mkdir()
        prof.export_chrome_trace(str(trace))
        _results.write_info(folder, vars(config), metadata)
        if analyse_flag and async_mode:
            threading.Thread(target=_results.write, args=(folder,)).start()
        elif analyse_flag:
            _results.write(folder)

    return handle


def analyse(
    profiler_path: str,
    max_process_number: int = _WORKERS,
    export_type: str | list[str] | None = None,
) -> None:
    """Works out the results of the traces that were written with `analyse_flag=False`.

    `profiler_path` is a folder `…_ascend_pt` or one that has such folders; those that have results
    already, and no unprocessed trace any more, are left alone. At most `max_process_number` are
    worked on at a time. The results, in `ASCEND_PROFILER_OUTPUT`:

    - `trace_view.json`, for chrome://tracing or Perfetto;
    - `kernel_details.csv`: the device's work, one line a time it ran;
    - `op_statistic.csv`: the same, one line a name;
    - `operator_details.csv`: the operators of the host and the device's time for each.

    Raises `ValueError` where there is no such folder.
    """
    if max_process_number < 1:
        raise ValueError(f"max_process_number must be at least 1, but got {max_process_number}")
    if export_type is not None:
        export_types(export_type)
    folders = _results.folders(Path(profiler_path))
    if not folders:
        raise ValueError(f"'{profiler_path}' neither is nor has a '*_ascend_pt' folder of a trace")
    with ThreadPoolExecutor(min(max_process_number, len(folders))) as workers:
        list(workers.map(_results.write, folders))


def _parent_folder(dir_name: str | None) -> Path:
    if dir_name is not None:
        return Path(dir_name)
    work_path = os.environ.get("ASCEND_WORK_PATH")
    return Path(work_path, "profiling_data") if work_path else Path.cwd()


def _new_folder(parent: Path, worker: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    while True:
        moment = datetime.datetime.now().strftime("%Y%m%d%H%M%S%f")[:-3]
        folder = parent / f"{worker}_{os.getpid()}_{moment}_ascend_pt"
        try:
            folder.mkdir()
        except FileExistsError:
            continue  # of the same millisecond
        return folder
