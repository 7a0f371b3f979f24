"""Single operators: what one call costs, small, and what bandwidth and arithmetic cost, large."""

from __future__ import annotations

import torch

from benchmarks.case import Call, Case

SMALL = 16
LARGE = 64 * 2**20 // 4  # float32 elements in 64 MB


def add(count: int, device: str) -> Call:
    x, y = (torch.randn(count, device=device) for _ in range(2))
    return lambda: x + y


def add_in_place(device: str) -> Call:
    x, y = (torch.randn(SMALL, device=device) for _ in range(2))
    return lambda: x.add_(y)


def allocate(device: str) -> Call:
    return lambda: torch.empty(SMALL, device=device)


def matmul(device: str) -> Call:
    x, y = (torch.randn(512, 512, device=device) for _ in range(2))
    return lambda: x @ y


CASES = [
    Case("x + y, 16 floats", lambda device: add(SMALL, device)),
    Case("x.add_(y), 16 floats", add_in_place),
    Case("torch.empty, 16 floats", allocate),
    Case("x + y, 64 MB", lambda device: add(LARGE, device)),
    Case("matmul, 512×512", matmul),
]
