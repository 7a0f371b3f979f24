"""Operators whose CPU kernels care for the memory format, on tensors in channels-last order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

Operator = Callable[[torch.Tensor], torch.Tensor]
PLANES = torch.randn(2, 4, 6, 6).to(memory_format=torch.channels_last)
VOLUMES = torch.randn(2, 4, 6, 6, 6).to(memory_format=torch.channels_last_3d)


def unpooled(dimensions: int) -> Operator:
    pool = getattr(functional, f"max_pool{dimensions}d")
    unpool = getattr(functional, f"max_unpool{dimensions}d")
    return lambda x: unpool(*pool(x, 2, return_indices=True), 2)


def fractional(dimensions: int) -> Operator:
    pool = getattr(functional, f"fractional_max_pool{dimensions}d")

    def call(x: torch.Tensor) -> torch.Tensor:
        samples = torch.full((2, 4, dimensions), 0.3, device=x.device)
        return pool(x, 2, output_size=3, _random_samples=samples)

    return call


OPERATORS: dict[str, Callable[[int], Operator]] = {
    "reflected": lambda n: lambda x: functional.pad(x, [1] * 2 * n, mode="reflect"),
    "replicated": lambda n: lambda x: functional.pad(x, [1] * 2 * n, mode="replicate"),
    "circular": lambda n: lambda x: functional.pad(x, [1] * 2 * n, mode="circular"),
    "unpooled": unpooled,
    "fractional": fractional,
    "average": lambda n: lambda x: getattr(functional, f"avg_pool{n}d")(x, 2),
    "maximum": lambda n: lambda x: getattr(functional, f"max_pool{n}d")(x, 2),
    "adaptive average": lambda n: lambda x: getattr(functional, f"adaptive_avg_pool{n}d")(x, 3),
    "adaptive maximum": lambda n: lambda x: getattr(functional, f"adaptive_max_pool{n}d")(x, 3),
    "interpolated": lambda n: lambda x: functional.interpolate(x, scale_factor=2.0),
    "linear": lambda n: (
        lambda x: functional.interpolate(
            x, scale_factor=1.5, mode="bilinear" if n == 2 else "trilinear"
        )
    ),
    "convolution": lambda n: (
        lambda x: getattr(functional, f"conv{n}d")(x, torch.ones(3, 4, *[2] * n, device=x.device))
    ),
    "batch norm": lambda n: lambda x: functional.batch_norm(x, None, None, training=True),
    "group norm": lambda n: lambda x: functional.group_norm(x, 2),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("x", [PLANES, VOLUMES], ids=["planes", "volumes"])
def test_values_and_gradients_do_not_depend_on_the_memory_format(
    name: str, x: torch.Tensor
) -> None:
    operator = OPERATORS[name](x.dim() - 2)
    expected_input = x.contiguous().requires_grad_()
    expected = operator(expected_input)
    upstream = torch.randn(expected.shape)
    (gradient,) = torch.autograd.grad(expected, expected_input, upstream)
    on_npu = x.npu().requires_grad_()
    assert on_npu.stride() == x.stride()
    actual = operator(on_npu)
    torch.testing.assert_close(actual.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-5)
    for incoming in (upstream.npu(), upstream.to(memory_format=memory_format(x)).npu()):
        (result,) = torch.autograd.grad(actual, on_npu, incoming, retain_graph=True)
        torch.testing.assert_close(result.cpu(), gradient, rtol=1e-4, atol=1e-5)


def memory_format(x: torch.Tensor) -> torch.memory_format:
    return torch.channels_last if x.dim() == 4 else torch.channels_last_3d


def test_outputs_are_written_in_their_own_strides() -> None:
    x = PLANES.npu()
    for call, shape in (
        (lambda out: torch._C._nn.adaptive_avg_pool2d(x, 3, out=out), (2, 4, 3, 3)),
        (lambda out: torch._C._nn.reflection_pad2d(x, [1] * 4, out=out), (2, 4, 8, 8)),
        (lambda out: torch._C._nn.replication_pad2d(x, [1] * 4, out=out), (2, 4, 8, 8)),
    ):
        out = torch.empty(shape, device="npu")
        inverse = torch.empty(shape, device="npu").to(memory_format=torch.channels_last)
        call(out)
        call(inverse)
        torch.testing.assert_close(out, inverse)
        assert out.is_contiguous()
        assert not inverse.is_contiguous()
