"""Options beyond those of `torch.profiler`.

What only a card's counters or Ascend's own tools can give is accepted, and its absence said once.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch.profiler

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
]

_warned: set[str] = set()


class ProfilerLevel:
    """How much is recorded of the device: all levels but `Level_none` give the same here."""

    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    """Groups of counters of the AI cores; only `AiCoreNone` can be met here."""

    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"
    MemoryL0 = "ACL_AICORE_L0B_AND_WIDTH"
    MemoryUB = "ACL_AICORE_MEMORY_UB"
    ResourceConflictRatio = "ACL_AICORE_RESOURCE_CONFLICT_RATIO"
    L2Cache = "ACL_AICORE_L2_CACHE"
    MemoryAccess = "ACL_AICORE_MEMORY_ACCESS"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    """In which form results are written; the database is not written here."""

    Db = "db"
    Text = "text"


class HostSystem:
    """What of the host may be sampled; nothing of it is here."""

    CPU = "cpu"
    MEM = "mem"
    DISK = "disk"
    NETWORK = "network"
    OSRT = "osrt"
    NUMA = "numa"


def _values(names: type) -> set[str]:
    return {value for name, value in vars(names).items() if not name.startswith("__")}


def supported_profiler_level() -> set[str]:
    """The values that `profiler_level` takes."""
    return _values(ProfilerLevel)


def supported_ai_core_metrics() -> set[str]:
    """The values that `aic_metrics` takes."""
    return _values(AiCMetrics)


def supported_export_type() -> set[str]:
    """The values that `export_type` takes."""
    return _values(ExportType)


def warn_absent(option: str, reason: str) -> None:
    """Says once per process that there is no data for an option."""
    if option not in _warned:
        _warned.add(option)
        warnings.warn(f"torch_npu.profiler: {option} has no effect: {reason}", stacklevel=4)


def export_types(export_type: str | list[str]) -> list[str]:
    """The forms asked for, each once. Raises `ValueError` for one that does not exist."""
    asked = [export_type] if isinstance(export_type, str) else list(export_type)
    unknown = set(asked) - supported_export_type()
    if unknown or not asked:
        raise ValueError(f"export_type must be 'text', 'db' or a list of them, not {export_type!r}")
    if ExportType.Db in asked:
        warn_absent("export_type=db", "results are written as text, the database is not written")
    return sorted(set(asked))


class _ExperimentalConfig:
    """The options of `torch_npu.profiler.profile(experimental_config=…)`.

    `profiler_level=Level_none` leaves the device's work out of the trace. `gc_detect_threshold`
    (in milliseconds) adds the garbage collections of Python to a profile that is made
    `with_stack`, whatever their duration. `data_simplification=False` keeps the unprocessed trace
    beside the results. Marks of `torch_npu.npu.mstx` are in every trace, with or without `mstx`
    and its older name `msprof_tx`.

    Raises `ValueError` for a level, metric, form or part of the host that does not exist.
    """

    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.PipeUtilization,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        mstx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str | list[str] = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx_domain_include: list[str] | None = None,
        mstx_domain_exclude: list[str] | None = None,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        _check("profiler_level", profiler_level, supported_profiler_level())
        _check("aic_metrics", aic_metrics, supported_ai_core_metrics())
        for part in host_sys or []:
            _check("host_sys", part, _values(HostSystem))
        if gc_detect_threshold is not None and gc_detect_threshold < 0:
            raise ValueError(f"gc_detect_threshold must not be negative, not {gc_detect_threshold}")
        if profiler_level in (ProfilerLevel.Level0, ProfilerLevel.Level_none):
            aic_metrics = AiCMetrics.AiCoreNone  # those levels have no counters anywhere
        self.profiler_level = profiler_level
        self.aic_metrics = aic_metrics
        self.data_simplification = data_simplification
        self.gc_detect_threshold = gc_detect_threshold
        self.export_type = export_types(export_type)
        if aic_metrics != AiCMetrics.AiCoreNone:
            warn_absent(f"aic_metrics={aic_metrics}", "there are no counters of AI cores")
        self._warn_of_options(
            l2_cache=l2_cache,
            record_op_args=record_op_args,
            op_attr=op_attr,
            host_sys=host_sys,
            sys_io=sys_io,
            sys_interconnection=sys_interconnection,
        )
        if mstx_domain_include or mstx_domain_exclude:
            warn_absent("mstx_domain_include/exclude", "the marks of every domain are recorded")

    @staticmethod
    def _warn_of_options(**options: Any) -> None:
        for name, value in options.items():
            if value:
                warn_absent(f"{name}={value}", "this profiler has no such data")

    def with_torch_options(self, with_stack: bool) -> torch.profiler._ExperimentalConfig:
        """What of it PyTorch's own profiler does; PyTorch notes stacks in `verbose` mode only."""
        return torch.profiler._ExperimentalConfig(
            verbose=with_stack, record_python_gc_info=self.gc_detect_threshold is not None
        )


def _check(option: str, value: Any, supported: set[str]) -> None:
    if value not in supported:
        raise ValueError(f"{option} must be one of {sorted(supported)}, not {value!r}")
