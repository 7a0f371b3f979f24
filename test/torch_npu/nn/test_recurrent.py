"""Recurrent layers and cells on npu: the CPU's values and gradients, without falling back."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

Check = Callable[..., None]
LAYERS = [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN]
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "without bias": {"bias": False},
    "two layers": {"num_layers": 2},
    "bidirectional": {"bidirectional": True, "num_layers": 2},
    "batch first": {"batch_first": True},
}


def sequence() -> torch.Tensor:
    return torch.randn(5, 2, 3, requires_grad=True)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("layer", LAYERS)
def test_layer_matches_the_cpu(
    check_module: Check, layer: type[torch.nn.RNNBase], name: str
) -> None:
    check_module(layer(3, 4, **OPTIONS[name]), sequence())


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}])
def test_lstm_with_projection_matches_the_cpu(check_module: Check, options: dict[str, Any]) -> None:
    check_module(torch.nn.LSTM(3, 4, proj_size=2, **options), sequence())


@pytest.mark.usefixtures("no_fallback")
def test_rnn_with_relu_matches_the_cpu(check_module: Check) -> None:
    check_module(torch.nn.RNN(3, 4, nonlinearity="relu"), sequence())


@pytest.mark.usefixtures("no_fallback")
def test_initial_state_gets_its_gradient(check_module: Check) -> None:
    state = torch.randn(1, 2, 4, requires_grad=True)
    cell = torch.randn(1, 2, 4, requires_grad=True)
    check_module(torch.nn.LSTM(3, 4), sequence(), (state, cell))
    check_module(torch.nn.GRU(3, 4), sequence(), state)


@pytest.mark.parametrize("layer", LAYERS)
def test_sequence_without_a_batch_matches_the_cpu(
    check_module: Check, layer: type[torch.nn.RNNBase]
) -> None:
    check_module(layer(3, 4), torch.randn(5, 3, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
def test_other_dtypes_match_the_cpu(
    check_module: Check, layer: type[torch.nn.RNNBase], dtype: torch.dtype
) -> None:
    x = torch.randn(5, 2, 3, dtype=dtype, requires_grad=True)
    check_module(layer(3, 4).to(dtype), x)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("cell", [torch.nn.LSTMCell, torch.nn.GRUCell, torch.nn.RNNCell])
@pytest.mark.parametrize("bias", [True, False])
def test_cell_matches_the_cpu(
    check_module: Check, cell: type[torch.nn.RNNCellBase], bias: bool
) -> None:
    check_module(cell(3, 4, bias=bias), torch.randn(2, 3, requires_grad=True))


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("used", [0, 1])
def test_gradient_of_one_output_of_the_lstm_cell(check_module: Check, used: int) -> None:
    class OneOutput(torch.nn.LSTMCell):
        def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return super().forward(x)[used]

    check_module(OneOutput(3, 4), torch.randn(2, 3, requires_grad=True))


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("sort", [True, False])
def test_packed_sequences_match_the_cpu(layer: type[torch.nn.RNNBase], sort: bool) -> None:
    rnn = layer(3, 4, bidirectional=True)
    npu_rnn = copy.deepcopy(rnn).to("npu")
    lengths = torch.tensor([5, 3, 1] if sort else [3, 5, 1])

    def run(module: torch.nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        packed = pack_padded_sequence(x, lengths, enforce_sorted=sort)
        output, state = module(packed)
        padded, out_lengths = pad_packed_sequence(output)
        assert out_lengths.tolist() == lengths.tolist()
        hidden = state[0] if isinstance(state, tuple) else state
        gradients = torch.autograd.grad(
            padded.square().sum() + hidden.sum(), list(module.parameters())
        )
        return (padded, hidden, *gradients)

    x = torch.randn(5, 3, 3)
    for there, here in zip(run(npu_rnn, x.to("npu")), run(rnn, x), strict=True):
        assert there.device.type == "npu"
        torch.testing.assert_close(there.cpu(), here, rtol=1e-4, atol=1e-5)


def test_pack_sequence_of_npu_tensors() -> None:
    parts = [torch.randn(3, 2), torch.randn(2, 2)]
    here = pack_sequence(parts)
    there = pack_sequence([part.to("npu") for part in parts])
    assert there.data.device.type == "npu"
    assert torch.equal(there.data.cpu(), here.data)
    assert torch.equal(there.batch_sizes, here.batch_sizes)


@pytest.mark.usefixtures("no_fallback")
@pytest.mark.parametrize("layer", LAYERS)
def test_dropout_between_layers_acts_in_training_only(layer: type[torch.nn.RNNBase]) -> None:
    rnn = layer(3, 16, num_layers=2, dropout=0.5).to("npu")
    x = torch.randn(5, 2, 3).to("npu")
    torch.npu.manual_seed(1)
    first, again = rnn(x)[0], rnn(x)[0]
    assert not torch.equal(first.cpu(), again.cpu())
    torch.npu.manual_seed(1)
    assert torch.equal(rnn(x)[0].cpu(), first.cpu())
    rnn.eval()
    assert torch.equal(rnn(x)[0].cpu(), rnn(x)[0].cpu())


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
def test_second_derivative_matches_the_cpu(layer: type[torch.nn.RNNBase]) -> None:
    rnn = layer(2, 3)
    npu_rnn = copy.deepcopy(rnn).to("npu")

    def penalty(module: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        x = x.detach().requires_grad_()
        (grad,) = torch.autograd.grad(module(x)[0].square().sum(), x, create_graph=True)
        grad.square().sum().backward()
        result = next(module.parameters()).grad
        assert result is not None
        return result

    x = torch.randn(2, 1, 2)
    torch.testing.assert_close(penalty(npu_rnn, x.to("npu")).cpu(), penalty(rnn, x))


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
def test_autocast_runs_the_layer_in_half_precision(layer: type[torch.nn.RNNBase]) -> None:
    rnn = layer(3, 4).to("npu")
    x = torch.randn(5, 2, 3).to("npu")
    with torch.autocast("npu", dtype=torch.bfloat16):
        result = rnn(x)[0]
    assert result.dtype == torch.bfloat16
    result.float().sum().backward()
    for parameter in rnn.parameters():
        assert parameter.grad is not None
        assert parameter.grad.dtype == torch.float32


def test_training_learns_to_sum_a_sequence() -> None:
    lstm, head = torch.nn.LSTM(1, 16).to("npu"), torch.nn.Linear(16, 1).to("npu")
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()], lr=0.02)
    losses = []
    for _ in range(60):
        x = torch.rand(6, 32, 1).to("npu")
        error = (head(lstm(x)[0][-1]) - x.sum(0)).square().mean()
        optimizer.zero_grad()
        error.backward()
        optimizer.step()
        losses.append(error.item())
    assert losses[-1] < losses[0] / 10


@pytest.mark.parametrize(
    ("cell", "width"), [("_thnn_fused_lstm_cell", 16), ("_thnn_fused_gru_cell", 12)]
)
def test_state_that_does_not_fit_the_gates_is_refused(cell: str, width: int) -> None:
    gates = torch.zeros(2, width, device="npu")
    operator = getattr(torch.ops.aten, cell)
    with pytest.raises(RuntimeError, match="does not fit gates"):
        operator(gates, gates, torch.zeros(2, 3, device="npu"))
    with pytest.raises(RuntimeError, match="expected a state of dtype"):
        operator(gates, gates, torch.zeros(2, 4, device="npu", dtype=torch.float64))
    with pytest.raises(RuntimeError, match="expected an input bias of size"):
        operator(gates, gates, torch.zeros(2, 4, device="npu"), torch.zeros(3, device="npu"))


WITHOUT_A_GRU_CELL = """
import copy, torch, torch_npu
gru = torch.nn.GRU(3, 4)
npu_gru = copy.deepcopy(gru).to("npu")
x = torch.randn(5, 2, 3)
here, there = gru(x)[0], npu_gru(x.to("npu"))[0]
here.square().sum().backward()
there.square().sum().backward()
torch.testing.assert_close(there.cpu(), here)
for a, b in zip(gru.parameters(), npu_gru.parameters()):
    torch.testing.assert_close(b.grad.cpu(), a.grad)
assert not any("thnn" in name for name in torch.npu.fallback_counts())
"""


def test_gru_works_under_a_cann_without_a_gru_cell(run_without: Callable[..., None]) -> None:
    run_without(WITHOUT_A_GRU_CELL, "softcannThnnFusedGruCell")
