"""Mixed precision."""

from __future__ import annotations

import pytest
import torch

npu = torch.npu


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("context", [torch.autocast, npu.amp.autocast])
def test_autocast_computes_matrix_products_in_its_dtype(context, dtype: torch.dtype) -> None:
    a = torch.ones(4, 4, device="npu")
    device = ("npu",) if context is torch.autocast else ()
    with context(*device, dtype=dtype):
        assert npu.is_autocast_enabled()
        assert npu.get_autocast_dtype() == dtype
        assert (a @ a).dtype == dtype
    assert not npu.is_autocast_enabled()
    assert (a @ a).dtype == torch.float32


def test_autocast_can_be_disabled_inside() -> None:
    a = torch.ones(4, 4, device="npu")
    with npu.amp.autocast(dtype=torch.bfloat16), npu.amp.autocast(enabled=False):
        assert (a @ a).dtype == torch.float32


@pytest.mark.covers("torch_npu.npu.amp.autocast")
def test_autocast_decorates_functions() -> None:
    @npu.amp.autocast(dtype=torch.bfloat16)
    def product(a: torch.Tensor) -> torch.Tensor:
        return a @ a

    assert product(torch.ones(2, 2, device="npu")).dtype == torch.bfloat16


@pytest.mark.covers("torch_npu.npu.get_amp_supported_dtype", "torch_npu.npu.is_autocast_enabled")
def test_supported_dtypes_are_those_that_autocast_accepts() -> None:
    for dtype in npu.get_amp_supported_dtype():
        with torch.autocast("npu", dtype=dtype):
            pass
    with (
        pytest.warns(UserWarning, match="target dtype is not supported"),
        torch.autocast("npu", dtype=torch.float64),
    ):
        assert not npu.is_autocast_enabled()


@pytest.mark.covers(
    "torch_npu.npu.get_autocast_dtype",
    "torch_npu.npu.set_autocast_enabled",
    "torch_npu.npu.set_autocast_dtype",
)
def test_state_of_autocast_can_be_set() -> None:
    before = npu.get_autocast_dtype()
    try:
        npu.set_autocast_enabled(True)
        npu.set_autocast_dtype(torch.bfloat16)
        assert npu.is_autocast_enabled()
        assert npu.get_autocast_dtype() == torch.bfloat16
    finally:
        npu.set_autocast_enabled(False)
        npu.set_autocast_dtype(before)


@pytest.mark.covers("torch_npu.npu.amp.custom_fwd", "torch_npu.npu.amp.custom_bwd")
def test_custom_function_casts_its_inputs() -> None:
    class Square(torch.autograd.Function):
        @staticmethod
        @npu.amp.custom_fwd(cast_inputs=torch.float32)
        def forward(ctx, x):
            assert x.dtype == torch.float32
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @npu.amp.custom_bwd
        def backward(ctx, gradient):
            assert not npu.is_autocast_enabled()
            return 2 * ctx.saved_tensors[0] * gradient

    x = torch.full((2,), 3.0, device="npu", dtype=torch.float16, requires_grad=True)
    with npu.amp.autocast():
        y = Square.apply(x)
    y.sum().backward()
    assert y.dtype == torch.float32
    assert x.grad.tolist() == [6, 6]


def _step(scaler, gradient: float) -> tuple[float, float]:
    """One step of SGD with a gradient; gives the parameter and the scale after it."""
    weight = torch.nn.Parameter(torch.ones(1, device="npu"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale((weight * gradient).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return weight.item(), scaler.get_scale()


@pytest.mark.parametrize("make", [lambda **o: torch.amp.GradScaler("npu", **o), npu.amp.GradScaler])
def test_scaler_steps_and_skips(make) -> None:
    scaler = make(init_scale=4.0, growth_interval=1)
    assert _step(scaler, 0.5) == (0.5, 8.0)
    assert _step(scaler, float("inf")) == (1.0, 4.0)


@pytest.mark.covers(
    "torch_npu.npu.amp.GradScaler",
    "torch_npu.npu.amp.GradScaler.scale",
    "torch_npu.npu.amp.GradScaler.step",
    "torch_npu.npu.amp.GradScaler.update",
)
def test_fixed_scale_stays_and_overflow_still_skips() -> None:
    scaler = npu.amp.GradScaler(init_scale=4.0, growth_interval=1, dynamic=False)
    assert _step(scaler, 0.5) == (0.5, 4.0)
    assert _step(scaler, float("inf")) == (1.0, 4.0)
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0


@pytest.mark.covers(
    "torch_npu.npu.amp.GradScaler.state_dict", "torch_npu.npu.amp.GradScaler.load_state_dict"
)
def test_scalers_state_is_restored() -> None:
    scaler = npu.amp.GradScaler(init_scale=4.0, dynamic=False)
    _step(scaler, 0.5)
    state = scaler.state_dict()
    assert state["scale"] == 4.0
    restored = npu.amp.GradScaler()
    restored.load_state_dict(state)
    assert restored.state_dict() == state
    assert npu.amp.GradScaler(enabled=False).state_dict() == {}


@pytest.mark.covers("torch_npu.npu.amp.common.amp_definitely_not_available")
def test_amp_is_available_with_a_device() -> None:
    assert not npu.amp.amp_definitely_not_available()


@pytest.mark.covers(
    "torch_npu.npu.utils.npu_check_overflow", "torch_npu.npu.utils.is_support_inf_nan"
)
def test_overflow_is_found_in_values() -> None:
    check = npu.utils.npu_check_overflow
    assert npu.utils.is_support_inf_nan()
    assert not check(torch.ones(3, device="npu"))
    assert check(torch.tensor([1.0, float("inf")], device="npu"))
    assert check(torch.tensor([1.0, float("nan")], device="npu"))
    assert not check(torch.full((3,), 3e38, device="npu"))
    assert check(float("nan"))
    assert not check(1.0)


@pytest.mark.covers("torch_npu.npu.get_npu_overflow_flag")
@pytest.mark.covers("torch_npu.npu.amp.GradScaler.get_npu_overflow_flag")
def test_overflow_flag_cannot_be_read_on_a_device_that_keeps_inf() -> None:
    for owner in (npu, npu.amp.GradScaler, npu.utils):
        with pytest.raises(RuntimeError, match="npu_check_overflow"):
            owner.get_npu_overflow_flag()


@pytest.mark.covers("torch_npu.npu.clear_npu_overflow_flag")
@pytest.mark.covers("torch_npu.npu.amp.GradScaler.clear_npu_overflow_flag")
def test_clearing_the_overflow_flag_warns_that_there_is_none() -> None:
    for owner in (npu, npu.amp.GradScaler, npu.utils):
        with pytest.warns(UserWarning, match="no overflow flag"):
            owner.clear_npu_overflow_flag()


@pytest.mark.covers("torch_npu.npu.amp.GradScaler.unscale_")
def test_gradients_are_unscaled_once() -> None:
    scaler = npu.amp.GradScaler(init_scale=8.0)
    weight = torch.nn.Parameter(torch.ones(2, device="npu"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler.scale((weight * 3).sum()).backward()
    assert weight.grad.tolist() == [24, 24]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
