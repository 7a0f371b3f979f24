"""Recurrent networks with sequences of different lengths, and with dropout between layers.

The wheel keeps packed sequences padded, but leaves the gradient of packing to PyTorch, which takes
them for packed: the gradient of what was packed is wrong on a card as well, and not compared. Nor
is the gradient of a backward direction's last state, which the wheel reads from another step than
it took the state from (op-plugin's LstmKernelNpu.cpp).
"""

import torch
from check import DEVICE, equal, seeded
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

LENGTHS = torch.tensor([5, 3, 2])


def run(
    model: nn.Module, where: str, packed: bool, through_states: bool = True
) -> list[torch.Tensor]:
    """Outputs, states and all gradients."""
    x = torch.linspace(-1, 1, 5 * 3 * 6).reshape(5, 3, 6).to(where).requires_grad_()
    inputs = pack_padded_sequence(x, LENGTHS) if packed else x
    y, state = model(inputs)
    if packed:
        y, _ = pad_packed_sequence(y)
    states = state if isinstance(state, tuple) else (state,)
    loss = y.sin().sum()
    if through_states:
        loss = loss + sum(each.cos().sum() for each in states)
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    return [y, *states, *gradients, *([] if packed else [x.grad])]


# One layer in one direction goes through aclnn, others through single operators. GRU's output the
# wheel takes for packed in one place and for padded in another.
for layers, both in ((1, False), (2, False), (1, True), (2, True)):
    host, device = seeded(lambda n=layers, both=both: nn.LSTM(6, 8, n, bidirectional=both))
    results = [
        run(model, where, True, not both) for model, where in ((host, "cpu"), (device, DEVICE))
    ]
    for left, right in zip(*results, strict=True):
        equal(right, left, f"packed, {layers} layers, both directions: {both}")

host, device = seeded(lambda: nn.LSTM(6, 8, 2, dropout=0.5))
host.eval()
device.eval()
equal(run(device, DEVICE, False)[0], run(host, "cpu", False)[0], "dropout in evaluation")

# Neither aclnnGRU nor the single operators of LSTM drop anything.
for kind in (nn.LSTM, nn.GRU):
    host, device = seeded(lambda kind=kind: kind(6, 8, 2, dropout=0.5))
    host.eval()
    results = [run(model, where, False) for model, where in ((host, "cpu"), (device, DEVICE))]
    for left, right in zip(*results, strict=True):
        equal(right, left, f"{kind.__name__}: dropout in training")
