"""Masked attention probabilities."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F


def fuse_add_softmax_dropout(
    training: bool,
    dropout: Any,
    attn_mask: torch.Tensor,
    attn_scores: torch.Tensor,
    attn_head_size: int,
    p: float = 0.5,
    dim: int = -1,
) -> torch.Tensor:
    """dropout(softmax(mask + scores / √head size)).

    Args:
        training: whether anything is dropped.
        dropout: the layer that the caller would apply; its probability is `p`.
        attn_mask: what is added to the scores, broadcast to their shape.
        attn_scores: raw scores, of the shape (batch, heads, queries, keys).
        attn_head_size: the features of a head.
        p: the probability of dropping a score.
        dim: the dimension that sums to one.
    """
    scores = torch.add(attn_mask, attn_scores, alpha=1 / math.sqrt(attn_head_size))
    return F.dropout(torch.softmax(scores, dim), p, training)
