"""An LSTM in both directions."""

from __future__ import annotations

import warnings

import torch
from torch import nn


class BiLSTM(nn.Module):
    """One layer of LSTM in each direction: (length, batch, input) to (length, batch, 2 · hidden).

    The first half of the features is the forward direction's. `torch.nn.LSTM` with
    `bidirectional=True` does the same and replaces it.
    """

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        warnings.warn(
            "torch_npu.contrib.module.BiLSTM is deprecated: use "
            "torch.nn.LSTM(…, bidirectional=True)",
            FutureWarning,
            stacklevel=2,
        )
        self.fw_rnn = nn.LSTM(input_size, hidden_size)
        self.bw_rnn = nn.LSTM(input_size, hidden_size)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        forward, _ = self.fw_rnn(inputs)
        backward, _ = self.bw_rnn(inputs.flip(0))
        return torch.cat([forward, backward.flip(0)], 2)
