"""npu_lstm, npu_lstm_cell and npu_gru against PyTorch's own layers."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu

TIME, BATCH, FEATURES, HIDDEN = 4, 3, 5, 6
PLAIN = (1, 0.0, True, False, False)  # layers, dropout, train, bidirectional, batch_first


def same(actual: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(actual.cpu(), wanted, atol=1e-5, rtol=1e-5)


def leaves(*tensors: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    host = [t.detach().clone().requires_grad_() for t in tensors]
    return host, [t.detach().npu().requires_grad_() for t in host]


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.covers("torch_npu.npu_lstm")
def test_lstm_and_its_gradients(biased: bool, backwards: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.LSTM(FEATURES, HIDDEN, bias=biased)
    x = torch.randn(TIME, BATCH, FEATURES)
    h, c = torch.randn(2, 1, BATCH, HIDDEN)
    weights = torch.cat((layer.weight_ih_l0, layer.weight_hh_l0), 1).t().detach()
    bias = torch.zeros(4 * HIDDEN)
    if biased:
        bias = (layer.bias_ih_l0 + layer.bias_hh_l0).detach()
    host, _ = leaves(x, h, c)
    steps = host[0].flip(0) if backwards else host[0]
    want, (last_h, last_c) = layer(steps, (host[1], host[2]))
    want = want.flip(0) if backwards else want

    _, device = leaves(x, weights, bias, h, c)
    mask = torch.empty(0, device="npu")
    out = torch_npu.npu_lstm(*device[:3], mask, *device[3:], biased, *PLAIN, False, backwards)
    assert len(out) == 8
    same(out[0], want.detach())
    last = 0 if backwards else TIME - 1
    same(out[1][last], last_h[0].detach())
    same(out[2][last], last_c[0].detach())
    grads = torch.randn(TIME, BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    ((want * grads[0]).sum() + (last_c[0] * grads[1]).sum()).backward()
    ((out[0] * grads[0].npu()).sum() + (out[2][last] * grads[1].npu()).sum()).backward()
    for mine, theirs in zip((device[0], device[3], device[4]), host, strict=True):
        same(mine.grad, theirs.grad)
    joined = torch.cat((layer.weight_ih_l0.grad, layer.weight_hh_l0.grad), 1).t()
    same(device[1].grad, joined)
    if biased:
        same(device[2].grad, layer.bias_ih_l0.grad)


@pytest.mark.parametrize("biased", [False, True])
def test_lstm_cell_and_its_gradients(biased: bool) -> None:
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(FEATURES, HIDDEN, bias=biased)
    host, device = leaves(
        torch.randn(BATCH, FEATURES), torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    )
    want_h, want_c = cell(host[0], (host[1], host[2]))
    _, weights = leaves(cell.weight_ih.t(), cell.weight_hh.t())
    biases = leaves(cell.bias_ih, cell.bias_hh)[1] if biased else []
    y, h, c, *gates = torch_npu.npu_lstm_cell(device[0], *weights, *device[1:], *biases)
    assert [gate.shape for gate in gates] == [(1, BATCH, HIDDEN)] * 5
    same(y[0], want_h.detach())
    same(h, want_h.detach())
    same(c, want_c.detach())
    (want_h.sum() + 2 * want_c.sum()).backward()
    (h.sum() + 2 * c.sum()).backward()
    for mine, theirs in zip(device, host, strict=True):
        same(mine.grad, theirs.grad)
    same(weights[0].grad, cell.weight_ih.grad.t())


@pytest.mark.parametrize("biased", [False, True])
def test_gru_and_its_gradients(biased: bool) -> None:
    torch.manual_seed(0)
    layer = torch.nn.GRU(FEATURES, HIDDEN, bias=biased)
    host, device = leaves(torch.randn(TIME, BATCH, FEATURES), torch.randn(1, BATCH, HIDDEN))
    want, _ = layer(*host)
    _, weights = leaves(layer.weight_ih_l0.t(), layer.weight_hh_l0.t())
    biases = [torch.zeros(3 * HIDDEN, device="npu") for _ in range(2)]
    if biased:
        biases = leaves(layer.bias_ih_l0, layer.bias_hh_l0)[1]
    lengths = torch.empty(0, device="npu")
    out = torch_npu.npu_gru(*device, *weights, *biases, lengths, biased, *PLAIN)
    assert [o.shape for o in out] == [(TIME, BATCH, HIDDEN)] * 6
    same(out[0], want.detach())
    same(out[1], want.detach())
    grad = torch.randn_like(want)
    (want * grad).sum().backward()
    (out[0] * grad.npu()).sum().backward()
    for mine, theirs in zip(device, host, strict=True):
        same(mine.grad, theirs.grad)
    same(weights[1].grad, layer.weight_hh_l0.grad.t())


@pytest.mark.parametrize(
    ("position", "value", "match"),
    [(7, 2, "num_layers 2"), (8, 0.5, "torch.nn.LSTM"), (10, True, "torch.nn.LSTM")],
)
def test_what_a_layer_does_not_do_is_refused(position: int, value: Any, match: str) -> None:
    x = torch.zeros(TIME, BATCH, FEATURES, device="npu")
    state, weight = torch.zeros(1, BATCH, HIDDEN).npu(), torch.zeros(11, 24).npu()
    arguments = [x, weight, weight[0], x, state, state, True, *PLAIN, False, False]
    arguments[position] = value
    with pytest.raises(NotImplementedError, match=match):
        torch_npu.npu_lstm(*arguments)
