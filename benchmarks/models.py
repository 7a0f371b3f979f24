"""Training steps: forward, backward and optimizer of small models."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.case import Call, Case
from examples.train_digits import BATCH, build_model


def step(model: nn.Module, inputs: torch.Tensor, classes: int) -> Call:
    """A training step of a classifier under AdamW, as a call without arguments."""
    device = inputs.device
    model = model.to(device)
    labels = torch.randint(classes, (inputs.shape[0],)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loss_fn = nn.CrossEntropyLoss()

    def call() -> None:
        optimizer.zero_grad()
        loss_fn(model(inputs), labels).backward()
        optimizer.step()

    return call


def mlp(device: str) -> Call:
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
    model.append(nn.Linear(128, 10))
    return step(model, torch.randn(64, 64).to(device), classes=10)


def digits_cnn(device: str) -> Call:
    return step(build_model(), torch.randn(BATCH, 1, 8, 8).to(device), classes=10)


class Classifier(nn.Module):
    """Two transformer layers over token ids (batch, length), pooled to ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(1000, 128)
        layer = nn.TransformerEncoderLayer(128, nhead=4, dim_feedforward=256, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2)
        self.head = nn.Linear(128, 10)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


def transformer(device: str) -> Call:
    return step(Classifier(), torch.randint(1000, (16, 32)).to(device), classes=10)


CASES = [
    Case("MLP training step", mlp),
    Case("digits CNN training step", digits_cnn),
    Case("transformer training step, 2 layers", transformer),
]
