"""Choosing devices and asking what they are."""

from __future__ import annotations

import pytest
import torch

npu = torch.npu
needs_two_devices = pytest.mark.skipif(npu.device_count() < 2, reason="needs two devices")


def test_module_is_torch_npu() -> None:
    import sys

    import torch_npu

    assert npu is torch_npu.npu
    assert sys.modules["torch.npu"] is npu


@pytest.mark.covers("torch_npu.npu.is_available", "torch_npu.npu.device_count")
def test_there_is_a_device() -> None:
    assert npu.is_available()
    assert npu.device_count() >= 1
    assert torch.accelerator.current_accelerator() == torch.device("npu")
    assert torch.accelerator.device_count() == npu.device_count()


@needs_two_devices
@pytest.mark.covers("torch_npu.npu.device", "torch_npu.npu.current_device")
def test_context_selects_and_restores_a_device() -> None:
    before = npu.current_device()
    with npu.device(1):
        assert npu.current_device() == 1
        assert torch.ones(1, device="npu").device == torch.device("npu:1")
        with npu.device("npu:0"):
            assert npu.current_device() == 0
        with npu.device(None), npu.device(-1):
            assert npu.current_device() == 1
    assert npu.current_device() == before


@needs_two_devices
def test_context_restores_the_device_after_an_error() -> None:
    before = npu.current_device()
    with pytest.raises(ZeroDivisionError), npu.device(1):
        raise ZeroDivisionError
    assert npu.current_device() == before


@needs_two_devices
@pytest.mark.covers("torch_npu.npu.set_device")
def test_set_device_accepts_every_form() -> None:
    try:
        for device in (1, "npu:1", torch.device("npu", 1)):
            npu.set_device(0)
            npu.set_device(device)
            assert npu.current_device() == 1
        npu.set_device(-1)
        assert npu.current_device() == 1
    finally:
        npu.set_device(0)


@needs_two_devices
@pytest.mark.covers("torch_npu.npu.device_of")
def test_device_of_selects_the_tensors_device() -> None:
    tensor = torch.ones(1, device="npu:1")
    with npu.device_of(tensor):
        assert npu.current_device() == 1
    with npu.device_of(torch.ones(1)):
        assert npu.current_device() == 0


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu"), "meta", 1.5, True, object()])
def test_what_is_no_npu_device_is_refused(device: object) -> None:
    with pytest.raises(ValueError, match="Expected an npu device"):
        npu.set_device(device)


def test_index_without_a_device_is_refused() -> None:
    beyond = npu.device_count()
    with pytest.raises(RuntimeError, match=str(beyond)):
        npu.set_device(beyond)
    with pytest.raises(AssertionError, match=f"Invalid device id {beyond}"):
        npu.get_device_properties(beyond)
    with pytest.raises(AssertionError, match="Invalid device id"):
        npu.can_device_access_peer(0, beyond)
    assert npu.current_device() == 0


@pytest.mark.covers(
    "torch_npu.npu.get_device_properties",
    "torch_npu.npu.get_device_name",
    "torch_npu.npu.mem_get_info",
)
def test_properties_describe_the_card() -> None:
    properties = npu.get_device_properties(0)
    assert properties.name == npu.get_device_name(0) == npu.get_device_name("npu:0")
    assert properties.name.startswith("Ascend")
    assert properties.total_memory == npu.mem_get_info(0)[1]
    assert properties.cube_core_num > 0
    assert properties.vector_core_num >= properties.cube_core_num
    assert properties.L2_cache_size > 0


def test_soc_version_matches_the_name() -> None:
    assert npu.get_device_name() == "Ascend910B2"
    assert npu.get_soc_version() == 221
    assert npu.get_arch_list() == [npu.get_device_name()]


@pytest.mark.covers("torch_npu.npu.get_device_capability")
def test_capability_is_none_and_says_why() -> None:
    with pytest.warns(UserWarning, match="no compute capability"):
        assert npu.get_device_capability() is None


@pytest.mark.covers("torch_npu.npu.is_bf16_supported")
def test_bfloat16_works_where_it_is_said_to() -> None:
    assert npu.is_bf16_supported()
    total = (torch.ones(4, device="npu", dtype=torch.bfloat16) * 2).sum()
    assert total.item() == 8


@pytest.mark.covers(
    "torch_npu.npu.synchronize",
    "torch_npu.npu.stream",
    "torch_npu.npu.Stream",
    "torch_npu.npu.Stream.query",
    "torch_npu.npu.StreamContext",
)
def test_synchronize_waits_for_every_stream() -> None:
    stream = npu.Stream()
    with npu.stream(stream):
        for _ in range(50):
            torch.ones(1000, device="npu").mul_(2)
    npu.synchronize()
    assert stream.query()
    npu.synchronize("npu:0")


def test_fallback_counts_are_a_copy() -> None:
    counts = npu.fallback_counts()
    counts["made up"] = 1
    assert "made up" not in npu.fallback_counts()


def test_what_cannot_be_known_says_what_to_use() -> None:
    with pytest.raises(NotImplementedError, match=r"utilization.* is not available .*npu-smi"):
        npu.utilization()


@pytest.mark.covers("torch_npu.npu.current_blas_handle")
def test_blas_handle_is_none_and_says_what_to_use() -> None:
    with pytest.warns(UserWarning, match="npu_stream"):
        assert npu.current_blas_handle() is None


@pytest.mark.covers("torch_npu.npu.can_device_access_peer")
def test_devices_reach_each_others_memory() -> None:
    assert npu.can_device_access_peer(0, npu.device_count() - 1) is True


@pytest.mark.covers("torch_npu.npu.ipc_collect")
def test_collecting_shared_memory_leaves_private_memory_alone() -> None:
    tensor = torch.ones(3, device="npu")
    npu.ipc_collect()
    assert tensor.tolist() == [1, 1, 1]


@pytest.mark.covers("torch_npu.npu.aclnn.backends.version")
def test_aclnn_has_no_version_and_says_so() -> None:
    with pytest.warns(UserWarning, match="get_cann_version"):
        assert npu.aclnn.version() is None


def test_missing_name_is_an_attribute_error() -> None:
    assert not hasattr(npu, "no_such_function")
    with pytest.raises(AttributeError, match="has no attribute 'no_such_function'"):
        npu.no_such_function  # noqa: B018
