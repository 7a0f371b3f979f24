import torch
from check import DEVICE, equal, seeded
from torch import nn


def build() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
    return nn.Sequential(
        nn.Embedding(50, 32),
        nn.TransformerEncoder(layer, 2, enable_nested_tensor=False),
        nn.Linear(32, 50),
    )


host, device = seeded(build)
tokens = torch.randint(0, 50, (3, 12))
for training in (True, False):
    host.train(training)
    device.train(training)
    equal(device(tokens.to(DEVICE)), host(tokens), f"training={training}")
host.train()
device.train()
for model, where in ((host, "cpu"), (device, DEVICE)):
    inputs = tokens.to(where)
    logits = model(inputs)
    nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), inputs[:, 1:].flatten()).backward()
for (name, left), right in zip(host.named_parameters(), device.parameters(), strict=True):
    equal(right.grad, left.grad, name)
