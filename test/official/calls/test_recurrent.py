"""Whole layers of one direction and cells, which go through aclnn functions of their own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn


def trained(model: nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    """Output, states and all gradients."""
    leaf = x.detach().requires_grad_()
    y, state = model(leaf)
    states = list(state) if isinstance(state, tuple) else [state]
    (y.sin().sum() + sum(each.cos().sum() for each in states)).backward()
    return [*(t.detach() for t in (y, *states)), leaf.grad, *(p.grad for p in model.parameters())]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_layers_and_their_gradients(same: Any, kind: type[nn.Module]) -> None:
    def call(x: torch.Tensor) -> list[torch.Tensor]:
        torch.manual_seed(0)
        return trained(kind(4, 5).to(x.device), x)

    x = torch.linspace(-1, 1, 24).view(3, 2, 4)
    same(call, x, rtol=1e-4, atol=1e-5)


def test_a_cell_s_gates_and_their_gradients() -> None:
    """The CPU lacks this function: the formula is the reference."""
    leaves = [torch.linspace(-1, 1, n).view(2, -1).requires_grad_() for n in (24, 24, 6)]
    there = [leaf.detach().npu().requires_grad_() for leaf in leaves]
    given, hidden, cell = leaves
    i, f, g, o = (given + hidden).chunk(4, 1)
    cy = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    expected = [o.sigmoid() * cy.tanh(), cy]
    hy, cy, _ = torch.ops.aten._thnn_fused_lstm_cell(*there)
    for got, want in zip((hy, cy), expected, strict=True):
        torch.testing.assert_close(got.cpu(), want)
    (expected[0].sin().sum() + expected[1].cos().sum()).backward()
    (hy.sin().sum() + cy.cos().sum()).backward()
    for got, want in zip(there, leaves, strict=True):
        torch.testing.assert_close(got.grad.cpu(), want.grad)


def test_the_gradient_of_distances_of_a_high_power(same: Any) -> None:
    def call(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        leaves = [x.detach().requires_grad_(), y.detach().requires_grad_()]
        torch.cdist(*leaves, p=3).sin().sum().backward()
        return [leaf.grad for leaf in leaves]

    same(call, torch.linspace(-1, 1, 12).view(4, 3), torch.linspace(0, 3, 15).view(5, 3))
