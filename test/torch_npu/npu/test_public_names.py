"""The names that programs written for `torch.npu` call."""

from __future__ import annotations

import importlib

import pytest
import torch

# Called by two or more projects or often by one; dots go into modules and objects.
_CALLED = [
    "Event",
    "ExternalEvent",
    "NPUGraph",
    "Stream",
    "amp.GradScaler",
    "amp.autocast",
    "amp.custom_bwd",
    "amp.custom_fwd",
    "config.allow_internal_format",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "get_soc_version",
    "graph",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "init",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory.MemPool",
    "memory.NPUPluggableAllocator",
    "memory._record_memory_history",
    "memory._snapshot",
    "memory.max_memory_allocated",
    "memory.max_memory_reserved",
    "memory.memory_snapshot",
    "memory.reset_peak_memory_stats",
    "memory.use_mem_pool",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "mstx",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "set_compile_mode",
    "set_device",
    "set_op_timeout_ms",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


@pytest.mark.parametrize("name", _CALLED)
def test_called_name_is_there(name: str) -> None:
    found: object = torch.npu
    for part in name.split("."):
        found = getattr(found, part)
    assert found is not None


@pytest.mark.parametrize(
    "module",
    [
        "amp",
        "amp.autocast_mode",
        "amp.common",
        "amp.grad_scaler",
        "autocast_utils",
        "deterministic",
        "graphs",
        "memory",
        "mstx",
        "npu_config",
        "random",
        "streams",
        "utils",
    ],
)
def test_module_is_importable_under_its_official_name(module: str) -> None:
    importlib.import_module(f"torch_npu.npu.{module}")


def test_every_public_name_has_a_docstring() -> None:
    without = [
        name
        for name in torch.npu.__all__
        if callable(getattr(torch.npu, name)) and not getattr(torch.npu, name).__doc__
    ]
    assert without == []
