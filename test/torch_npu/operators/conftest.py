"""What the tests of Ascend's own operators share: comparing with a reference in plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

Compare = Callable[..., None]


def on(device: str, value: Any) -> Any:
    """`value` with every tensor moved; one that requires a gradient becomes a leaf there."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(device).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(on(device, item) for item in value)
    if isinstance(value, dict):
        return {key: on(device, item) for key, item in value.items()}
    return value


def tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors(item)]
    return []


def backward(outputs: Sequence[torch.Tensor]) -> None:
    """Sums every output that has a gradient, weighted so that each element counts differently."""
    total: Any = 0
    for output in outputs:
        if output.requires_grad:
            weights = torch.linspace(-1, 2, output.numel(), dtype=torch.float64)
            weights = weights.view(output.shape).to(output.device, torch.float32)
            total = total + (output.float() * weights).sum()
    total.backward()


@pytest.fixture
def compare() -> Compare:
    """Calls `operator` on npu and `reference` on the CPU with the same arguments.

    Outputs must be equal in shape, dtype and value, and so must the gradients of the arguments
    that require one. `reference` may give fewer outputs than the operator; `None` skips one.
    """

    def run(
        operator: Callable[..., Any],
        reference: Callable[..., Any],
        *arguments: Any,
        tolerance: dict[str, float] | None = None,
        **keywords: Any,
    ) -> None:
        tolerance = tolerance or {}
        here, there = on("cpu", arguments), on("npu", arguments)
        expected = reference(*here, **on("cpu", keywords))
        actual = operator(*there, **on("npu", keywords))
        wanted = expected if isinstance(expected, (list, tuple)) else [expected]
        given = actual if isinstance(actual, (list, tuple)) else [actual]
        for want, got in zip(wanted, given, strict=False):
            if want is not None:
                assert got.device.type == "npu"
                torch.testing.assert_close(got.cpu(), want, **tolerance)
        if any(tensor.requires_grad for tensor in tensors(arguments)):
            backward([t for t in tensors(expected) if t is not None])
            backward(tensors(actual)[: len(tensors(expected))])
            for host, device in zip(tensors(here), tensors(there), strict=True):
                if host.requires_grad:
                    assert device.grad is not None
                    torch.testing.assert_close(device.grad.cpu(), host.grad, **tolerance)

    return run
