"""The product with a transposed matrix."""

from __future__ import annotations

import torch


def matmul_transpose(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:
    """`tensor1 @ tensor2ᵀ`, batches broadcast."""
    return tensor1 @ tensor2.transpose(-2, -1)
