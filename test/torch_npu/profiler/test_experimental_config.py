"""Options that only some machines can meet."""

from __future__ import annotations

import gc
import warnings

import pytest
import torch

from torch_npu import profiler
from torch_npu.profiler import experimental_config
from torch_npu.profiler.experimental_config import _ExperimentalConfig


@pytest.fixture(autouse=True)
def _fresh_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experimental_config, "_warned", set())


@pytest.mark.covers(
    "torch_npu.profiler._ExperimentalConfig",
    "torch_npu.profiler.experimental_config._ExperimentalConfig",
)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"l2_cache": True}, "l2_cache"),
        ({"record_op_args": True}, "record_op_args"),
        ({"op_attr": True}, "op_attr"),
        ({"sys_io": True}, "sys_io"),
        ({"sys_interconnection": True}, "sys_interconnection"),
        ({"host_sys": [profiler.HostSystem.CPU]}, "host_sys"),
        ({"export_type": [profiler.ExportType.Db]}, "export_type"),
        ({"mstx_domain_include": ["mine"]}, "mstx_domain"),
        (
            {
                "profiler_level": profiler.ProfilerLevel.Level1,
                "aic_metrics": profiler.AiCMetrics.Memory,
            },
            "aic_metrics",
        ),
    ],
)
def test_absent_data_is_said_once(options: dict, named: str) -> None:
    with pytest.warns(UserWarning, match=f"{named}.*has no effect"):
        _ExperimentalConfig(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ExperimentalConfig(**options)


@pytest.mark.covers(
    "torch_npu.profiler.AiCMetrics",
    "torch_npu.profiler.ExportType",
    "torch_npu.profiler.HostSystem",
    "torch_npu.profiler.ProfilerLevel",
    "torch_npu.profiler.ProfilerLevel.Level1",
    traced=False,
)
def test_constants_have_the_official_values() -> None:
    assert profiler.ProfilerLevel.Level0 == "Level0"
    assert profiler.ProfilerLevel.Level1 == "Level1"
    assert profiler.ProfilerLevel.Level2 == "Level2"
    assert profiler.ProfilerLevel.Level_none == "Level_none"
    assert profiler.AiCMetrics.PipeUtilization == "ACL_AICORE_PIPE_UTILIZATION"
    assert (profiler.ExportType.Text, profiler.ExportType.Db) == ("text", "db")
    assert profiler.HostSystem.OSRT == "osrt"


@pytest.mark.covers(
    "torch_npu.profiler.supported_profiler_level",
    "torch_npu.profiler.supported_ai_core_metrics",
    "torch_npu.profiler.supported_export_type",
)
def test_supported_values_are_taken() -> None:
    assert "Level_none" in profiler.supported_profiler_level()
    assert "ACL_AICORE_NONE" in profiler.supported_ai_core_metrics()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for level in profiler.supported_profiler_level():
            assert _ExperimentalConfig(level).profiler_level == level
        for metrics in profiler.supported_ai_core_metrics():
            assert _ExperimentalConfig("Level1", metrics).aic_metrics == metrics
        for form in profiler.supported_export_type():
            assert _ExperimentalConfig(export_type=form).export_type == [form]


@pytest.mark.parametrize(
    "options",
    [
        {"profiler_level": "Level9"},
        {"aic_metrics": "no such"},
        {"export_type": "xml"},
        {"export_type": []},
        {"host_sys": ["fan"]},
        {"gc_detect_threshold": -1.0},
    ],
)
def test_unknown_values_are_refused(options: dict) -> None:
    [name] = options
    with pytest.raises(ValueError, match=name):
        _ExperimentalConfig(**options)


def test_level_none_leaves_the_device_out(work) -> None:
    config = _ExperimentalConfig(profiler.ProfilerLevel.Level_none)
    with profiler.profile(experimental_config=config) as prof:
        work()
    kinds = {event.device_type for event in prof.events()}
    assert kinds == {torch.autograd.DeviceType.CPU}


def test_garbage_collections_are_recorded() -> None:
    config = _ExperimentalConfig(gc_detect_threshold=0)
    with profiler.profile(experimental_config=config, with_stack=True) as prof:
        gc.collect()
    assert "Python GC" in {event.name for event in prof.events()}
    with pytest.warns(UserWarning, match="gc_detect_threshold has no effect"):
        profiler.profile(experimental_config=config)
