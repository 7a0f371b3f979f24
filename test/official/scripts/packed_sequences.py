"""Recurrent networks with sequences of different lengths, and with dropout between layers.

The wheel keeps packed sequences padded, but leaves the gradient of packing to PyTorch, which takes
them for packed: the gradient of what was packed is wrong on a card as well, and not compared.
"""

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
    gradients = [parameter.grad for parameter in model.parameters()]
    return [y, *states, *gradients, *([] if packed else [x.grad])]


# LSTM of several layers or directions takes single operators, which refuse such sequences; of GRU
# the wheel takes the output for packed in one place and for padded in another.
host, device = seeded(lambda: nn.LSTM(6, 8))
for left, right in zip(run(host, "cpu", True), run(device, DEVICE, True), strict=True):
    equal(right, left, "packed")

host, device = seeded(lambda: nn.LSTM(6, 8, 2, dropout=0.5))
host.eval()
device.eval()
equal(run(device, DEVICE, False)[0], run(host, "cpu", False)[0], "dropout in evaluation")
