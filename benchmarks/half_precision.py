"""Work in bfloat16 and float16, which CPUs without units for them are slow at."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from benchmarks.case import Call, Case
from benchmarks.models import Classifier, step


def matmul(dtype: torch.dtype, device: str) -> Call:
    x, y = (torch.randn(1024, 1024).to(device, dtype) for _ in range(2))
    return lambda: x @ y


def convolution(device: str) -> Call:
    """A 3×3 convolution of 64 channels, forward and backward."""
    model = nn.Conv2d(64, 64, 3, padding=1).to(device, torch.bfloat16)
    images = torch.randn(8, 64, 16, 16).to(device, torch.bfloat16).requires_grad_()

    def call() -> None:
        model.zero_grad()
        model(images).sum().backward()

    return call


def transformer(autocast: bool, device: str) -> Call:
    """A training step of two layers of width 128: under autocast, or wholly in bfloat16."""
    tokens = torch.randint(1000, (16, 32)).to(device)
    model = Classifier()
    if not autocast:
        return step(model.bfloat16(), tokens, classes=10)
    call = step(model, tokens, classes=10)
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16)(call)


class Decoder(nn.Module):
    """One layer of a language model that has seen `length` tokens: attention over their keys and
    values, and a gated feed-forward network. (1, 1, width) in and out."""

    def __init__(self, width: int, heads: int, length: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.register_buffer("cache", torch.randn(2, 1, heads, length, width // heads))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.qkv(self.norms[0](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        keys, values = (
            torch.cat((c, new), 2) for c, new in zip(self.cache, heads[1:], strict=True)
        )
        attended = functional.scaled_dot_product_attention(heads[0], keys, values)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        y = self.norms[1](x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


def generation(device: str) -> Call:
    """The next token of a model of width 1024, with two layers and 4096 tokens to choose from."""
    layers = [Decoder(1024, heads=16, length=128) for _ in range(2)]
    model = nn.Sequential(nn.Embedding(4096, 1024), *layers, nn.Linear(1024, 4096))
    model = model.to(device, torch.bfloat16).eval()
    token = torch.zeros(1, 1, dtype=torch.long, device=device)
    return torch.no_grad()(lambda: model(token).argmax(-1))


CASES = [
    Case("bfloat16 matmul, 1024×1024", lambda device: matmul(torch.bfloat16, device)),
    Case("float16 matmul, 1024×1024", lambda device: matmul(torch.float16, device)),
    Case("bfloat16 3×3 convolution step", convolution),
    Case("bfloat16 transformer step, autocast", lambda device: transformer(True, device)),
    Case("bfloat16 transformer step, whole", lambda device: transformer(False, device)),
    Case("bfloat16 generation, width 1024", generation),
]
