"""LSTM and GRU: one layer goes through aclnn, more or both directions through single operators."""

import torch
from check import DEVICE, equal, seeded
from torch import nn

# (module, layers, bidirectional)
CASES = [
    (nn.LSTM, 1, False),
    (nn.LSTM, 2, False),
    (nn.LSTM, 1, True),
    (nn.LSTM, 2, True),
    (nn.GRU, 1, False),
    (nn.GRU, 2, True),
]

for kind, layers, both in CASES:
    for batch_first in (False, True):
        name = f"{kind.__name__} {layers} {both} {batch_first}"

        def build(kind=kind, layers=layers, both=both, batch_first=batch_first) -> nn.Module:
            return kind(6, 8, layers, bidirectional=both, batch_first=batch_first)

        host, device = seeded(build)
        x = torch.randn(5, 3, 6)
        for model, where in ((host, "cpu"), (device, DEVICE)):
            model.x = x.clone().to(where).requires_grad_()
            model.y, state = model(model.x)
            model.state = state if isinstance(state, tuple) else (state,)
            (model.y.sin().sum() + sum(s.cos().sum() for s in model.state)).backward()
        equal(device.y, host.y, f"{name}: output")
        for left, right in zip(device.state, host.state, strict=True):
            equal(left, right, f"{name}: state")
        equal(device.x.grad, host.x.grad, f"{name}: gradient of the input")
        for (which, left), right in zip(host.named_parameters(), device.parameters(), strict=True):
            equal(right.grad, left.grad, f"{name}: gradient of {which}")
