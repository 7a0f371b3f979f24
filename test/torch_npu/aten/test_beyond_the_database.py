"""Operators of the table that PyTorch's OpInfo database has no entry for, against the CPU."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.ao.quantization import FusedMovingAvgObsFakeQuantize


@pytest.fixture(autouse=True)
def without_fallback() -> Iterator[None]:
    before = torch.npu.fallback_counts()
    yield
    torch.npu.synchronize()
    assert torch.npu.fallback_counts() == before


def assert_alike(call: Callable[[str], Any]) -> None:
    torch.testing.assert_close(call("npu"), call("cpu"), check_device=False)


@pytest.mark.parametrize("dim", [0, 1])
def test_weight_norm_and_its_gradients(dim: int) -> None:
    torch.manual_seed(0)
    v, g = torch.randn(3, 4), torch.randn(3, 1) if dim == 0 else torch.randn(1, 4)

    def call(device: str) -> list[torch.Tensor]:
        leaves = [leaf.to(device).requires_grad_() for leaf in (v, g)]
        weight = torch._weight_norm(*leaves, dim)
        return [weight.detach(), *torch.autograd.grad(weight.square().sum(), leaves)]

    assert_alike(call)


def test_products_of_int8() -> None:
    a = torch.randint(-128, 128, (17, 8), dtype=torch.int8)
    b = torch.randint(-128, 128, (8, 16), dtype=torch.int8)
    assert_alike(lambda device: torch._int_mm(a.to(device), b.to(device)))
    with pytest.raises(RuntimeError, match="needs to match"):
        torch._int_mm(a[:, :4].npu(), b.npu())


@pytest.mark.parametrize("arguments", [(7,), (7, False), (8, True, 3.5), (0,), (1,)])
@pytest.mark.parametrize("dtype", [None, torch.float64])
def test_kaiser_windows(arguments: tuple[Any, ...], dtype: torch.dtype | None) -> None:
    assert_alike(lambda device: torch.kaiser_window(*arguments, dtype=dtype, device=device))


def test_wrong_kaiser_windows_are_refused() -> None:
    with pytest.raises(RuntimeError, match="got window_length=-1"):
        torch.kaiser_window(-1, device="npu")
    with pytest.raises(RuntimeError, match="floating point dtypes, got: Long"):
        torch.kaiser_window(4, dtype=torch.int64, device="npu")
    with pytest.raises(RuntimeError, match="sparse"):
        torch.kaiser_window(4, layout=torch.sparse_coo, device="npu")


@pytest.mark.parametrize(
    "of", [float, lambda lr: torch.tensor(lr), lambda lr: torch.tensor(lr).npu()]
)
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "Adagrad"])
def test_fused_optimizers_take_their_rate_as_a_number_or_tensor(
    optimizer: str, of: Callable[[float], Any]
) -> None:
    torch.manual_seed(0)
    on_cpu = nn.Linear(3, 2)
    on_npu = copy.deepcopy(on_cpu).npu()
    for module, lr in ((on_cpu, 0.1), (on_npu, of(0.1))):
        steps = getattr(torch.optim, optimizer)(module.parameters(), lr=lr, fused=True)
        for _ in range(3):
            steps.zero_grad()
            x = torch.ones(4, 3, device=module.weight.device)
            module(x).square().sum().backward()
            steps.step()
    torch.testing.assert_close(on_npu.weight.cpu(), on_cpu.weight)


def test_fake_quantisation_and_its_gradients() -> None:
    torch.manual_seed(0)
    x, scales = torch.randn(3, 4) * 3, torch.tensor([0.1, 0.2, 0.3])
    points = torch.tensor([0, 3, -2], dtype=torch.int32)

    def call(device: str) -> list[torch.Tensor]:
        leaf = x.to(device).requires_grad_()
        scale = scales.to(device).requires_grad_()
        point = points.to(device)
        moving = point.float().requires_grad_()
        one_scale, one_point = scale[:1], moving[:1]
        results = [
            torch.fake_quantize_per_tensor_affine(leaf, 0.1, 2, -8, 7),
            torch.fake_quantize_per_tensor_affine(leaf, scale[0].detach(), point[0], -8, 7),
            torch.fake_quantize_per_channel_affine(leaf, scale.detach(), point, 0, -8, 7),
            torch._fake_quantize_learnable_per_tensor_affine(leaf, one_scale, one_point, -8, 7),
            torch._fake_quantize_learnable_per_channel_affine(leaf, scale, moving, 0, -8, 7),
        ]
        loss = torch.stack([result.square().sum() for result in results]).sum()
        gradients = torch.autograd.grad(loss, (leaf, scale, moving))
        return [*(result.detach() for result in results), *gradients]

    assert_alike(call)


@pytest.mark.parametrize(
    ("scales", "points", "axis", "bounds", "error"),
    [
        ((3, 1), (3,), 0, (-8, 7), RuntimeError),
        ((3,), (2,), 0, (-8, 7), RuntimeError),
        ((2,), (2,), 0, (-8, 7), RuntimeError),
        ((3,), (3,), 5, (-8, 7), IndexError),
        ((4,), (4,), -1, (-8, 7), RuntimeError),
        ((3,), (3,), 0, (8, 7), RuntimeError),
    ],
)
def test_wrong_fake_quantisation_is_refused_as_on_the_cpu(
    scales: tuple[int, ...],
    points: tuple[int, ...],
    axis: int,
    bounds: tuple[int, int],
    error: type[Exception],
) -> None:
    for device in ("cpu", "npu"):
        scale = torch.ones(scales, device=device)
        point = torch.zeros(points, dtype=torch.int32, device=device)
        with pytest.raises(error):
            torch.fake_quantize_per_channel_affine(
                torch.ones(3, 4, device=device), scale, point, axis, *bounds
            )


@pytest.mark.parametrize("per_channel", [False, True])
def test_an_observer_keeps_the_extremes_that_it_has_seen(per_channel: bool) -> None:
    torch.manual_seed(0)
    scheme = torch.per_channel_affine if per_channel else torch.per_tensor_affine
    batches = [torch.randn(4, 3) * factor for factor in (1, 3, 2)]

    def call(device: str) -> list[torch.Tensor]:
        observer = (
            torch.ao.quantization.MovingAveragePerChannelMinMaxObserver
            if per_channel
            else torch.ao.quantization.MovingAverageMinMaxObserver
        )
        fake = FusedMovingAvgObsFakeQuantize(
            observer, quant_min=-8, quant_max=7, dtype=torch.qint8, qscheme=scheme
        ).to(device)
        results = [fake(batch.to(device)) for batch in batches]
        state = fake.activation_post_process
        return [*results, state.min_val, state.max_val, fake.scale, fake.zero_point]

    assert_alike(call)
