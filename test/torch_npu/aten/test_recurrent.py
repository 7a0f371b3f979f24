"""Recurrent layers on npu: the same values and gradients as on the CPU."""

from __future__ import annotations

import copy

import pytest
import torch

import torch_npu

LAYERS = {
    "LSTM": lambda: torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True),
    "LSTM without bias": lambda: torch.nn.LSTM(3, 4, bias=False),
    "LSTM with projection": lambda: torch.nn.LSTM(3, 4, proj_size=2),
    "GRU": lambda: torch.nn.GRU(3, 4, num_layers=2, bidirectional=True),
    "GRU without bias": lambda: torch.nn.GRU(3, 4, bias=False),
    "RNN": lambda: torch.nn.RNN(3, 4),
}


def tensors(output: object) -> list[torch.Tensor]:
    if isinstance(output, torch.Tensor):
        return [output]
    return [tensor for part in output for tensor in tensors(part)]  # type: ignore[attr-defined]


def check_same(layer: torch.nn.Module, x: torch.Tensor) -> None:
    npu_layer = copy.deepcopy(layer).to("npu")
    here, there = tensors(layer(x)), tensors(npu_layer(x.to("npu")))
    for cpu_tensor, npu_tensor in zip(here, there, strict=True):
        assert npu_tensor.device.type == "npu"
        torch.testing.assert_close(npu_tensor.cpu(), cpu_tensor)
    torch.stack([t.square().sum() for t in here]).sum().backward()
    torch.stack([t.square().sum() for t in there]).sum().backward()
    for cpu_parameter, npu_parameter in zip(
        layer.parameters(), npu_layer.parameters(), strict=True
    ):
        assert npu_parameter.grad is not None
        torch.testing.assert_close(npu_parameter.grad.cpu(), cpu_parameter.grad)


@pytest.mark.parametrize("name", LAYERS)
def test_layer_matches_the_cpu(name: str) -> None:
    torch.manual_seed(0)
    check_same(LAYERS[name](), torch.randn(5, 2, 3))


@pytest.mark.parametrize("cell", [torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell])
def test_cell_matches_the_cpu(cell: type[torch.nn.Module]) -> None:
    torch.manual_seed(0)
    check_same(cell(3, 4), torch.randn(2, 3))


@pytest.mark.parametrize("used", [0, 1])
def test_gradient_of_one_output_of_the_lstm_cell(used: int) -> None:
    torch.manual_seed(0)
    cell = torch.nn.LSTMCell(3, 4)
    npu_cell = copy.deepcopy(cell).to("npu")
    x = torch.randn(2, 3)
    cell(x)[used].sum().backward()
    npu_cell(x.to("npu"))[used].sum().backward()
    for here, there in zip(cell.parameters(), npu_cell.parameters(), strict=True):
        torch.testing.assert_close(there.grad.cpu(), here.grad)


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
def test_packed_sequences(layer: type[torch.nn.RNNBase]) -> None:
    torch.manual_seed(0)
    rnn = layer(3, 4)
    npu_rnn = copy.deepcopy(rnn).to("npu")
    x, lengths = torch.randn(5, 2, 3), torch.tensor([5, 3])
    pack = torch.nn.utils.rnn.pack_padded_sequence
    here = rnn(pack(x, lengths))[0]
    there = npu_rnn(pack(x.to("npu"), lengths))[0]
    torch.testing.assert_close(there.data.cpu(), here.data)


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
def test_second_derivative(layer: type[torch.nn.RNNBase]) -> None:
    torch.manual_seed(0)
    rnn = layer(2, 3)
    npu_rnn = copy.deepcopy(rnn).to("npu")

    def penalty(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (grad,) = torch.autograd.grad(module(x)[0].square().sum(), x, create_graph=True)
        grad.square().sum().backward()
        return next(module.parameters()).grad

    x = torch.randn(2, 1, 2)
    torch.testing.assert_close(penalty(npu_rnn, x.to("npu")).cpu(), penalty(rnn, x))


def test_state_that_does_not_fit_the_gates_is_refused() -> None:
    gates = torch.zeros(2, 16, device="npu")
    with pytest.raises(RuntimeError, match="does not fit gates"):
        torch.ops.aten._thnn_fused_lstm_cell(gates, gates, torch.zeros(2, 3, device="npu"))


def test_cells_do_not_fall_back() -> None:
    torch.nn.LSTM(3, 4).to("npu")(torch.ones(2, 1, 3, device="npu"))
    torch.nn.GRU(3, 4).to("npu")(torch.ones(2, 1, 3, device="npu"))
    assert not [name for name in torch_npu._C._npu_fallbackCounts() if "_thnn" in name]
