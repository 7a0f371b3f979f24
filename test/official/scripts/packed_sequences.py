"""Recurrent networks with sequences of different lengths, projections, dropout and given states."""

import torch
from check import DEVICE, equal, seeded
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LENGTHS = torch.tensor([5, 3, 2])


def run(model: nn.Module, where: str, packed: bool) -> list[torch.Tensor]:
    """Outputs, states and all gradients."""
    x = torch.linspace(-1, 1, 5 * 3 * 6).reshape(5, 3, 6).to(where).requires_grad_()
    inputs = pack_padded_sequence(x, LENGTHS) if packed else x
    y, state = model(inputs)
    if packed:
        y, _ = pad_packed_sequence(y)
    states = state if isinstance(state, tuple) else (state,)
    (y.sin().sum() + sum(each.cos().sum() for each in states)).backward()
    return [y, *states, x.grad, *(parameter.grad for parameter in model.parameters())]


for kind in (nn.LSTM, nn.GRU):
    for layers, both in ((1, False), (2, True)):

        def build(kind=kind, layers=layers, both=both) -> nn.Module:
            return kind(6, 8, layers, bidirectional=both)

        host, device = seeded(build)
        name = f"{kind.__name__} {layers} {both}, packed"
        for left, right in zip(run(host, "cpu", True), run(device, DEVICE, True), strict=True):
            equal(right, left, name)

host, device = seeded(lambda: nn.LSTM(6, 8, 2, dropout=0.5))
host.eval()
device.eval()
equal(run(device, DEVICE, False)[0], run(host, "cpu", False)[0], "dropout in evaluation")
device.train()
first, second = (run(device, DEVICE, False)[0] for _ in range(2))
assert not torch.equal(first.cpu(), second.cpu()), "dropout in training draws"
