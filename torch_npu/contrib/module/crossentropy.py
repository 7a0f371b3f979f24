"""Cross entropy with smoothed labels."""

from __future__ import annotations

import torch
from torch import nn


class LabelSmoothingCrossEntropy(nn.Module):
    """The mean cross entropy of predictions (n, classes) and labels (n,), in float32.

    Args:
        num_classes: the classes among which `smooth_factor` is shared out.
        smooth_factor: how much of a label's weight the other classes get, 0 to 1.
    """

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        if num_classes < 2:
            raise ValueError(f"num_classes must be at least 2, but is {num_classes}")
        self.on_value = 1.0 - smooth_factor
        self.off_value = smooth_factor / (num_classes - 1)

    def forward(self, pred: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        labels = torch.full_like(pred, self.off_value)
        labels.scatter_(1, target.long()[:, None], self.on_value)
        losses = -(labels * torch.log_softmax(pred, 1)).sum(1)
        return losses.mean(0, dtype=torch.float32)
