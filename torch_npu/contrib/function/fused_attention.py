"""Self-attention of BERT, from hidden states to context."""

from __future__ import annotations

import torch
import torch.nn.functional as F

_HEAD_SIZE = 64


def npu_fused_attention(
    hidden_states: torch.Tensor,
    attention_mask: torch.Tensor,
    query_kernel: torch.Tensor,
    key_kernel: torch.Tensor,
    value_kernel: torch.Tensor,
    query_bias: torch.Tensor,
    key_bias: torch.Tensor,
    value_bias: torch.Tensor,
    scale: float = 1,
    keep_prob: float = 0,
) -> torch.Tensor:
    """Multi-head self-attention with heads of 64 features.

    Args:
        hidden_states: (batch * length, features); features are a multiple of 64.
        attention_mask: what is added to the scores, of the shape (batch, 1, length, length).
        query_kernel: (features, features), multiplied from the right, as the two others.
        query_bias: (features,), as the two others.
        scale: the factor of the scores, usually 1 / √64.
        keep_prob: the share of the probabilities that dropout keeps, above 0 and up to 1.

    Returns the context, of the shape of `hidden_states`. Raises `ValueError` for shapes that do not
    fit and for a `keep_prob` outside of its range; its default is outside, so it must be given.
    """
    _check(hidden_states, attention_mask, keep_prob)
    batch, features = attention_mask.shape[0], hidden_states.shape[1]

    def heads(kernel: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        projected = torch.addmm(bias, hidden_states, kernel)
        return projected.view(batch, -1, features // _HEAD_SIZE, _HEAD_SIZE).transpose(1, 2)

    query, key, value = (
        heads(query_kernel, query_bias),
        heads(key_kernel, key_bias),
        heads(value_kernel, value_bias),
    )
    probabilities = torch.softmax(query @ key.transpose(-2, -1) * scale + attention_mask, -1)
    kept = F.dropout(probabilities, 1 - keep_prob)
    return (kept @ value).transpose(1, 2).reshape(hidden_states.shape)


def npu_fused_attention_with_layernorm(
    hidden_states: torch.Tensor,
    attention_mask: torch.Tensor,
    query_kernel: torch.Tensor,
    key_kernel: torch.Tensor,
    value_kernel: torch.Tensor,
    query_bias: torch.Tensor,
    key_bias: torch.Tensor,
    value_bias: torch.Tensor,
    gamma: torch.Tensor,
    beta: torch.Tensor,
    scale: float = 1,
    keep_prob: float = 0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """`npu_fused_attention` of the layer-normalised states; gives the context and these states.

    `gamma` and `beta`, of the shape (features,), are the normalisation's weight and bias.
    """
    _check(hidden_states, attention_mask, keep_prob)
    norm = F.layer_norm(hidden_states, gamma.shape, gamma, beta)
    context = npu_fused_attention(
        norm,
        attention_mask,
        query_kernel,
        key_kernel,
        value_kernel,
        query_bias,
        key_bias,
        value_bias,
        scale,
        keep_prob,
    )
    return context, norm


def _check(hidden_states: torch.Tensor, attention_mask: torch.Tensor, keep_prob: float) -> None:
    if hidden_states.dim() != 2 or hidden_states.shape[1] % _HEAD_SIZE:
        raise ValueError(
            f"hidden_states must have the shape (batch * length, a multiple of {_HEAD_SIZE}), "
            f"but has {tuple(hidden_states.shape)}"
        )
    shape = attention_mask.shape
    if len(shape) != 4 or shape[1] != 1 or shape[0] * shape[2] != hidden_states.shape[0]:
        raise ValueError(
            "attention_mask must have the shape (batch, 1, length, length) for "
            f"{hidden_states.shape[0]} rows of hidden_states, but has {tuple(shape)}"
        )
    if not 0 < keep_prob <= 1:
        raise ValueError(
            f"keep_prob must be above 0 and at most 1, but is {keep_prob}; 1.0 drops nothing"
        )
