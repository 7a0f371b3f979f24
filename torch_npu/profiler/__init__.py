"""Profiling of programs that use npu: `torch.profiler` under the names of the official package.

A `profile` of this module is a `torch.profiler.profile`. Device times come from timing events
around what is put into streams; there are no hardware counters, and an option that asks for theirs
says so in a warning.
"""

from torch_npu.profiler import dynamic_profile, profiler
from torch_npu.profiler.experimental_config import (
    AiCMetrics,
    ExportType,
    HostSystem,
    ProfilerLevel,
    _ExperimentalConfig,
    supported_ai_core_metrics,
    supported_export_type,
    supported_profiler_level,
)
from torch_npu.profiler.profiler import analyse, profile, tensorboard_trace_handler
from torch_npu.profiler.profiler_interface import ProfilerActivity, supported_activities
from torch_npu.profiler.scheduler import ProfilerAction, Schedule

schedule = Schedule

__all__ = [
    "AiCMetrics",
    "ExportType",
    "HostSystem",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "_ExperimentalConfig",
    "analyse",
    "dynamic_profile",
    "profile",
    "profiler",
    "schedule",
    "supported_activities",
    "supported_ai_core_metrics",
    "supported_export_type",
    "supported_profiler_level",
    "tensorboard_trace_handler",
]
