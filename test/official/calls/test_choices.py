"""What the wheel asks of CANN for a 910B that is not what PyTorch asks: seen by the functions that
run and by what these are given."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from official.traced import Trace
from torch.nn import functional

Ran = Callable[[], set[str]]


@pytest.fixture
def ran() -> Ran:
    """What has run since the last call."""
    trace = Trace(Path(os.environ["SOFTCANN_TRACE"]))

    def executed() -> set[str]:
        torch.npu.synchronize()
        return trace.executed()

    executed()
    return executed


def test_gelu_is_asked_for_without_its_approximation(ran: Ran) -> None:
    """aclnnGelu has no argument for it; the forms differ by 4.7e-4."""
    x = torch.linspace(-4, 4, 101)
    there = x.npu()
    ran()
    results = [functional.gelu(there, approximate=form) for form in ("none", "tanh")]
    assert ran() == {"aclnnGelu"}
    for result in results:
        torch.testing.assert_close(result.cpu(), functional.gelu(x))


def test_gelu_s_gradient_is_asked_for_without_its_approximation(ran: Ran) -> None:
    x = torch.linspace(-4, 4, 101)
    (expected,) = torch.autograd.grad(functional.gelu(x.requires_grad_()).sum(), x)
    there = x.detach().npu().requires_grad_()
    outputs = [functional.gelu(there, approximate=form) for form in ("none", "tanh")]
    grad = torch.ones(101, device="npu")
    ran()
    results = [torch.autograd.grad(output, there, grad)[0] for output in outputs]
    assert ran() == {"aclnnGeluBackward"}
    for result in results:
        torch.testing.assert_close(result.cpu(), expected)


def test_dropout_s_backward_passes_its_mask_on_as_bits(ran: Ran) -> None:
    """PyTorch's mask has an element for each; in the wheel's, each byte has eight."""
    grad = torch.arange(1.0, 17)
    mask = torch.tensor([True, False] * 8)
    there = grad.npu(), mask.npu()
    ran()
    result = torch.ops.aten.native_dropout_backward(*there, 2.0)
    assert ran() == {"aclnnDropoutDoMask"}
    # Of the first two bytes, 1 and 0, the lowest bit is set in the first.
    expected = torch.zeros(16)
    expected[0] = 2 * grad[0]
    torch.testing.assert_close(result.cpu(), expected)


def test_max_pooling_s_indices_are_a_mask_of_the_backward_s_own(ran: Ran) -> None:
    x = torch.arange(64.0).view(1, 1, 8, 8).npu()
    ran()
    values, indices = functional.max_pool2d(x, 2, return_indices=True)
    assert ran() == {"aclnnMaxPool2dWithMask"}
    assert indices.dtype != torch.int64
    assert indices.shape != values.shape
