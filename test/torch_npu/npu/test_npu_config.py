"""Switches are kept and read back; what is none is refused."""

from __future__ import annotations

import threading

import pytest
import torch

from torch_npu.npu import npu_config

npu = torch.npu


@pytest.fixture(autouse=True)
def _fresh_options(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_options", "_device_limits", "_stream_limits"):
        monkeypatch.setattr(npu_config, name, {})


@pytest.mark.covers("torch_npu.npu.set_compile_mode", "torch_npu.npu.is_jit_compile_false")
def test_compile_mode_is_read_back() -> None:
    assert npu.is_jit_compile_false()
    npu.set_compile_mode(jit_compile=True)
    assert not npu.is_jit_compile_false()
    assert npu.get_option("jitCompile") == "enable"
    npu.set_compile_mode(jit_compile=False)
    assert npu.is_jit_compile_false()


def test_choosing_the_compile_mode_waits_for_the_device() -> None:
    gate, stream, event = npu.ExternalEvent(), npu.Stream(), npu.Event()
    gate.wait(stream)
    event.record(stream)
    opener = threading.Timer(0.1, gate.record)
    opener.start()
    assert not event.query()
    npu.set_compile_mode(jit_compile=False)
    assert event.query()
    opener.join()


@pytest.mark.covers("torch_npu.npu.set_option")
def test_options_are_read_back() -> None:
    assert npu.get_option("ACL_PRECISION_MODE") is None
    npu.set_option({"ACL_PRECISION_MODE": "must_keep_origin_dtype", "jitCompile": "enable"})
    assert npu.get_option("ACL_PRECISION_MODE") == "must_keep_origin_dtype"
    assert not npu.is_jit_compile_false()


def test_one_wrong_option_sets_none() -> None:
    with pytest.raises(ValueError, match="'NO_SUCH' is not an option"):
        npu.set_option({"jitCompile": "enable", "NO_SUCH": "1"})
    assert npu.is_jit_compile_false()
    with pytest.raises(TypeError, match="jitCompile"):
        npu.set_option({"jitCompile": True})
    with pytest.raises(TypeError, match="dict"):
        npu.set_option("jitCompile")


@pytest.mark.covers("torch.npu.config.allow_internal_format", traced=False)
@pytest.mark.parametrize(
    ("owner", "name", "default"),
    [
        (npu.config, "allow_internal_format", False),
        (npu.matmul, "allow_hf32", False),
        (npu.conv, "allow_hf32", True),
    ],
)
def test_permission_is_read_back(owner: object, name: str, default: bool) -> None:
    assert getattr(owner, name) is default
    setattr(owner, name, not default)
    assert getattr(owner, name) is (not default)
    with pytest.raises(TypeError, match=name):
        setattr(owner, name, "yes")
    with pytest.raises(AttributeError):
        owner.no_such_switch = True


@pytest.mark.covers("torch_npu.npu.set_mm_bmm_format_nd", "torch_npu.npu.get_mm_bmm_format_nd")
def test_format_of_matrix_products_is_read_back() -> None:
    assert npu.get_mm_bmm_format_nd()
    npu.set_mm_bmm_format_nd(False)
    assert not npu.get_mm_bmm_format_nd()


@pytest.mark.covers(
    "torch_npu.npu.are_compatible_impl_enabled", "torch_npu.npu.use_compatible_impl"
)
def test_compatible_implementations_are_read_back() -> None:
    assert not npu.are_compatible_impl_enabled()
    npu.use_compatible_impl(True)
    try:
        assert npu.are_compatible_impl_enabled()
    finally:
        npu.use_compatible_impl(False)


@pytest.mark.covers(
    "torch_npu.npu.get_device_limit",
    "torch_npu.npu.set_device_limit",
    "torch_npu.npu.get_stream_limit",
    "torch_npu.npu.set_stream_limit",
    "torch_npu.npu.reset_stream_limit",
)
def test_limits_of_cores() -> None:
    whole = npu.get_device_limit(0)
    properties = npu.get_device_properties(0)
    assert whole == {
        "cube_core_num": properties.cube_core_num,
        "vector_core_num": properties.vector_core_num,
    }
    npu.set_device_limit(0, cube_num=2)
    assert npu.get_device_limit("npu:0") == {**whole, "cube_core_num": 2}
    stream = npu.Stream()
    assert npu.get_stream_limit(stream) == npu.get_device_limit(0)
    npu.set_stream_limit(stream, vector_num=3)
    assert npu.get_stream_limit(stream) == {"cube_core_num": 2, "vector_core_num": 3}
    npu.reset_stream_limit(stream)
    assert npu.get_stream_limit(stream) == npu.get_device_limit(0)


@pytest.mark.parametrize("number", [0, -2, 10_000])
def test_limit_outside_of_the_card_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=str(number)):
        npu.set_device_limit(0, cube_num=number)


@pytest.mark.covers("torch_npu.npu.set_deterministic_level")
def test_deterministic_level() -> None:
    try:
        npu.set_deterministic_level(1)
        assert torch.are_deterministic_algorithms_enabled()
        npu.set_deterministic_level(0)
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.use_deterministic_algorithms(False)
    with pytest.raises(NotImplementedError, match="Level 1"):
        npu.set_deterministic_level(2)
    with pytest.raises(ValueError, match="'high'"):
        npu.set_deterministic_level("high")


@pytest.mark.covers(
    "torch_npu.npu.enable_deterministic_with_backward",
    "torch_npu.npu.disable_deterministic_with_backward",
)
def test_determinism_of_a_part_and_of_its_backward() -> None:
    seen: list[bool] = []

    class Witness(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.are_deterministic_algorithms_enabled())
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            seen.append(torch.are_deterministic_algorithms_enabled())
            return gradient

    try:
        x = torch.ones(2, device="npu", requires_grad=True)
        x = Witness.apply(npu.enable_deterministic_with_backward(Witness.apply(x)))
        x = Witness.apply(npu.disable_deterministic_with_backward(x))
        assert seen == [False, True, False]
        x.sum().backward()
        assert seen[3:] == [False, True, False]
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.covers("torch_npu.npu.set_sync_debug_mode", "torch_npu.npu.get_sync_debug_mode")
def test_sync_debug_mode_finds_waits() -> None:
    value, large = torch.ones(2, device="npu").sum(), torch.ones(1 << 20)
    target = large.to("npu")
    waits = [
        value.item,
        value.cpu,
        lambda: target.copy_(large),
        lambda: target.nonzero(),
        npu.current_stream().synchronize,
    ]
    npu.set_sync_debug_mode("warn")
    try:
        assert npu.get_sync_debug_mode() == 1
        for wait in waits:
            with pytest.warns(UserWarning, match="synchronizing NPU operation") as warned:
                wait()
            assert len(warned) == 1
        npu.set_sync_debug_mode(2)
        for wait in waits:
            with pytest.raises(RuntimeError, match="synchronizing NPU operation"):
                wait()
        value.add_(1)
        npu.synchronize()
    finally:
        npu.set_sync_debug_mode("default")
    assert npu.get_sync_debug_mode() == 0
    assert value.item() == 3
    for wrong in (3, "loud", None):
        with pytest.raises(ValueError, match="debug_mode"):
            npu.set_sync_debug_mode(wrong)


@pytest.mark.parametrize(
    "call",
    [
        lambda: npu.set_aoe("dump"),
        lambda: npu.init_dump(),
        lambda: npu.set_dump("acl.json"),
        lambda: npu.finalize_dump(),
        lambda: npu.stress_detect(),
        lambda: npu.check_uce_in_memory(0),
        lambda: npu.stop_device(0),
        lambda: npu.restart_device(0),
    ],
)
def test_what_needs_a_card_says_so(call) -> None:
    with pytest.raises(NotImplementedError, match="not available in this version"):
        call()
