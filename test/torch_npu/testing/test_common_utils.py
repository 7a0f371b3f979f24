"""Devices, inputs, conditions and baselines for tests."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from torch_npu.testing import common_utils


@pytest.mark.covers(
    "torch_npu.testing.common_utils.get_npu_device", "torch_npu.testing.common_utils.set_npu_device"
)
def test_the_device_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SET_NPU_DEVICE", raising=False)
    assert common_utils.get_npu_device() == "npu:0"
    monkeypatch.setenv("SET_NPU_DEVICE", "2")
    before = torch.npu.current_device()
    assert common_utils.set_npu_device() == "npu:2"
    assert torch.npu.current_device() == 2
    _, tensor = common_utils.create_common_tensor([np.float32, -1, (2,)], 0, 1)
    assert tensor.device.index == 2
    torch.npu.set_device(before)


@pytest.mark.covers("torch_npu.testing.common_utils.freeze_rng_state")
def test_random_numbers_come_back_even_after_an_error() -> None:
    torch.npu.init()
    states = torch.get_rng_state(), torch.npu.get_rng_state()

    def draw_and_fail() -> None:
        with common_utils.freeze_rng_state():
            torch.rand(3)
            torch.rand(3, device="npu")
            raise KeyError

    with pytest.raises(KeyError):
        draw_and_fail()
    assert torch.equal(states[0], torch.get_rng_state())
    assert torch.equal(states[1], torch.npu.get_rng_state())


@pytest.mark.covers(
    "torch_npu.testing.common_utils.is_iterable", "torch_npu.testing.common_utils.iter_indices"
)
def test_iterables_and_indices() -> None:
    assert common_utils.is_iterable([1])
    assert not common_utils.is_iterable(1)
    assert list(common_utils.iter_indices(torch.ones(2, 2))) == [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.mark.covers("torch_npu.testing.common_utils.create_common_tensor")
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_a_common_tensor_is_a_pair(dtype: type) -> None:
    on_cpu, on_npu = common_utils.create_common_tensor([dtype, -1, (3, 4)], -2, 2, device="npu:1")
    assert on_cpu.device.type == "cpu"
    assert str(on_npu.device) == "npu:1"
    assert on_cpu.shape == (3, 4)
    assert on_cpu.numpy().dtype == dtype
    torch.testing.assert_close(on_npu.cpu(), on_cpu, rtol=0, atol=0)
    assert -2 <= on_cpu.min() < on_cpu.max() <= 2


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.float16, torch.bfloat16, torch.float32, torch.int32, torch.int8]
)
@pytest.mark.covers("torch_npu.testing.common_utils.create_dtype_tensor")
def test_a_tensor_of_a_dtype_is_a_pair(dtype: torch.dtype) -> None:
    on_cpu, on_npu = common_utils.create_dtype_tensor((50, 4), dtype, no_zero=True, min_value=0)
    assert on_cpu.dtype == on_npu.dtype == dtype
    assert torch.equal(on_npu.cpu(), on_cpu)
    assert on_cpu.bool().all()
    assert on_cpu.max() <= 5


@pytest.mark.covers("torch_npu.testing.common_utils.test_2args_broadcast")
def test_broadcasting_cases_are_run_on_both_devices() -> None:
    outputs = common_utils.test_2args_broadcast(torch.add)
    assert [ours.shape for ours, _ in outputs] == [(2, 3, 4, 5)] * 2
    for ours, theirs in outputs:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.covers("torch_npu.testing.common_utils.check_operators_in_prof")
def test_operators_are_looked_for_in_a_profile() -> None:
    def profile(*keys: str) -> SimpleNamespace:
        return SimpleNamespace(key_averages=lambda: [SimpleNamespace(key=key) for key in keys])

    check = common_utils.check_operators_in_prof
    assert check(["aten::add"], profile("aten::add", "aten::mul"))
    assert not check(["aten::add"], profile("aten::mul"))
    assert not check(["aten::add"], profile("aten::add", "aten::mul"), ["aten::mul"])
    with pytest.raises(ValueError, match="empty"):
        check(["aten::add"], profile())
    with torch.profiler.profile() as real:
        torch.ones(2, device="npu") + 1
    assert check(["aten::add"], real, ["aten::mul"])


def skipped(decorated: object) -> bool:
    try:
        decorated()  # type: ignore[operator]
    except unittest.SkipTest:
        return True
    return False


@pytest.mark.covers("torch_npu.testing.common_utils.SupportedDevices")
def test_tests_are_run_on_supported_devices_only() -> None:
    name = torch.npu.get_device_name()
    assert not skipped(common_utils.SupportedDevices(["Ascend310P", name[:10]])(lambda: None))
    assert skipped(common_utils.SupportedDevices(["Ascend310P"])(lambda: None))


@pytest.mark.covers("torch_npu.testing.common_utils.SkipIfNotGteCANNVersion")
def test_tests_are_run_from_a_version_of_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = common_utils.SkipIfNotGteCANNVersion
    monkeypatch.setattr(common_utils, "get_cann_version", lambda module: "8.2.RC1")
    for version in ("8.1.RC1", "8.1.0", "8.2.RC1", "7.9.9"):
        assert not skipped(needs(version)(lambda: None)), version
    for version in ("8.2.RC2", "8.2.0", "8.10.RC1", "9.0.0"):
        assert skipped(needs(version)(lambda: None)), version
    monkeypatch.setattr(common_utils, "get_cann_version", lambda module: "")
    assert skipped(needs("6.0.0")(lambda: None))
    monkeypatch.undo()
    with pytest.raises(ValueError, match="NOTHING"):
        needs("8.0.0", "NOTHING")(lambda: None)()


@pytest.mark.covers(
    "torch_npu.testing.common_utils.SkipIfNotRegistered",
    "torch_npu.testing.common_utils.SkipIfNoLapack",
)
def test_tests_are_run_where_an_operator_or_lapack_is_there() -> None:
    there = common_utils.SkipIfNotRegistered()
    assert not skipped(there("aten::add", "no add")(lambda: None))
    assert skipped(there("aten::not_there", "no operator")(lambda: None))
    assert skipped(common_utils.SkipIfNoLapack()(lambda: None)) is not torch._C.has_lapack


def test_a_device_has_no_known_clock() -> None:
    with pytest.raises(NotImplementedError, match="event"):
        common_utils.get_cycles_per_ms()


@pytest.mark.covers(
    "torch_npu.testing.common_utils.Baseline",
    "torch_npu.testing.common_utils.Baseline.get_baseline",
    "torch_npu.testing.common_utils.Baseline.set_baseline",
    "torch_npu.testing.common_utils.Baseline.save_baseline",
    "torch_npu.testing.common_utils.dump_baseline",
)
def test_baselines_are_read_and_written(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    baseline = common_utils.Baseline(str(path))
    assert baseline.get_baseline("test") is None
    baseline.set_baseline("test", 1.5)
    baseline.save_baseline()
    assert json.loads(path.read_text()) == {"test": 1.5}
    assert common_utils.Baseline(str(path)).get_baseline("test") == 1.5
    assert list(tmp_path.iterdir()) == [path]
    common_utils.dump_baseline()  # writes nothing unless PERF_TEST_ENABLE is set
