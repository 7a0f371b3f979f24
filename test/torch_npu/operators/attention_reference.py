"""Attention in plain PyTorch: one sequence of shape (heads, length, size), in float64."""

from __future__ import annotations

import torch


def hidden(
    mode: int,
    queries: int,
    keys: int,
    mask: torch.Tensor | None = None,
    before: int = 2**31 - 1,
    after: int = 2**31 - 1,
    prefix: int = 0,
) -> torch.Tensor | None:
    """Which keys (queries, keys) a sparse mode of CANN hides."""
    if mask is None:
        return None
    row = torch.arange(queries).view(-1, 1)
    column = torch.arange(keys).view(1, -1)
    corner = keys - queries
    if mode == 0:
        return mask.bool() | (column - row > after) | (row - column > before)
    if mode == 1:
        return mask.bool()
    if mode == 2:
        return column > row
    if mode == 3:
        return column > row + corner
    if mode == 4:
        return (column > row + corner + after) | (column < row + corner - before)
    return (column > row + corner) & (column >= prefix)


def attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float,
    hidden_keys: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    bias_scaled: bool = True,
    kept: torch.Tensor | None = None,
    keep_probability: float = 1.0,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The output and the logsumexp; a query that sees no key gives zeros."""
    group = query.shape[0] // key.shape[0]
    key = key.repeat_interleave(group, 0).double()
    value = value.repeat_interleave(group, 0).double()
    scores = query.double() @ key.transpose(1, 2)
    if bias is not None and bias_scaled:
        scores = scores + bias.double()
    scores = scores * scale
    if bias is not None and not bias_scaled:
        scores = scores + bias.double()
    if hidden_keys is not None:
        scores = scores.masked_fill(hidden_keys, float("-inf"))
    if sink is not None:  # one score more for each head, whose value is zero
        extra = sink.double().view(-1, 1, 1).expand(-1, scores.shape[1], 1)
        scores = torch.cat((scores, extra), -1)
        value = torch.cat((value, torch.zeros_like(value[:, :1])), 1)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    if kept is not None:
        if sink is not None:
            kept = torch.cat((kept, torch.ones_like(kept[..., :1])), -1)
        weights = weights * kept / keep_probability
    return weights @ value, torch.logsumexp(scores, -1)


def to_layout(batch: torch.Tensor, layout: str) -> torch.Tensor:
    """(batch, heads, length, size) in one of CANN's layouts."""
    if layout == "BNSD":
        return batch.contiguous()
    if layout == "BSND":
        return batch.transpose(1, 2).contiguous()
    if layout == "NBSD":
        return batch.transpose(0, 1).contiguous()
    if layout == "BSH":
        return batch.transpose(1, 2).flatten(2).contiguous()
    assert layout == "SBH"
    return batch.permute(2, 0, 1, 3).flatten(2).contiguous()
