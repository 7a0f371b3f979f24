"""Attention of translation models, over sequences that are folded into rows."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from torch_npu.contrib.function.matmul_transpose import matmul_transpose
from torch_npu.contrib.module.ensemble_dropout import NpuCachedDropout

dropout_class = NpuCachedDropout


def Matmul_transpose(tensor1: torch.Tensor, tensor2: torch.Tensor) -> torch.Tensor:  # noqa: N802
    """`tensor1 @ tensor2ᵀ`, batches broadcast."""
    return matmul_transpose(tensor1, tensor2)


class MultiheadAttention(nn.Module):
    """Multi-head attention; the rows of inputs are (batch, time), the columns features.

    Args:
        embed_dim: the features of queries and results.
        num_heads: the heads; must divide `embed_dim`.
        kdim: the features of keys; `embed_dim` by default.
        vdim: the features of values; `embed_dim` by default.
        dropout: the probability of dropping an attention weight, in training.
        bias: whether projections have biases.
        self_attention: whether keys and values have the queries' features; `ValueError` if not.
        encoder_decoder_attention: for the reader only.

    `add_bias_kv`, `add_zero_attn` and quantisation noise are refused.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        kdim: int | None = None,
        vdim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        self_attention: bool = False,
        encoder_decoder_attention: bool = False,
        q_noise: float = 0.0,
        qn_block_size: int = 8,
    ) -> None:
        super().__init__()
        if add_bias_kv or add_zero_attn or q_noise > 0:
            raise NotImplementedError(
                "add_bias_kv, add_zero_attn and q_noise are not available in this version of "
                "torch_npu. Use torch.nn.MultiheadAttention, which has the first two."
            )
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} must be divisible by num_heads {num_heads}")
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.qkv_same_dim = self.kdim == self.vdim == embed_dim
        if self_attention and not self.qkv_same_dim:
            raise ValueError("self-attention needs queries, keys and values of the same size")
        self.self_attention = self_attention
        self.encoder_decoder_attention = encoder_decoder_attention
        self.head_dim = embed_dim // num_heads
        self.scaling = self.head_dim**-0.5
        self.dropout_module = dropout_class(dropout, module_name=type(self).__name__)
        self.k_proj = nn.Linear(self.kdim, embed_dim, bias)
        self.v_proj = nn.Linear(self.vdim, embed_dim, bias)
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias)
        self.onnx_trace = self.tpu = False
        self.batch_size = 1
        self.reset_parameters()

    def prepare_for_onnx_export_(self) -> None:
        """Notes in `onnx_trace` that the module will be traced."""
        self.onnx_trace = True

    def prepare_for_tpu_(self, **kwargs: Any) -> None:
        """Notes in `tpu` that shapes must not change."""
        self.tpu = True

    def reset_parameters(self) -> None:
        """Draws the weights after Xavier Glorot; the result's bias becomes zero."""
        gain = 1 / math.sqrt(2) if self.qkv_same_dim else 1.0
        for projection in (self.k_proj, self.v_proj, self.q_proj):
            nn.init.xavier_uniform_(projection.weight, gain)
        nn.init.xavier_uniform_(self.out_proj.weight)
        if self.out_proj.bias is not None:
            nn.init.zeros_(self.out_proj.bias)

    def transpose_for_scores(self, x: torch.Tensor) -> torch.Tensor:
        """Rows (batch · time, features) as (batch, heads, time, features of a head)."""
        return x.view(self.batch_size, -1, self.num_heads, self.head_dim).transpose(1, 2)

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        bsz: int,
        tgt_len: int,
        s_len: int,
        key_padding_mask: torch.Tensor | None = None,
        incremental_state: Any = None,
        need_weights: bool = True,
        static_kv: bool = False,
        attn_mask: torch.Tensor | None = None,
        before_softmax: bool = False,
        need_head_weights: bool = False,
    ) -> tuple[torch.Tensor, None]:
        """The attended values (bsz · tgt_len, embed_dim), and `None`: weights are not returned.

        Args:
            query: (bsz · tgt_len, embed_dim).
            key: (bsz · s_len, kdim).
            value: (bsz · s_len, vdim).
            key_padding_mask: what is added to the scores, broadcast to
                (bsz, heads, tgt_len, s_len).

        Raises `NotImplementedError` for incremental decoding, `static_kv`, `before_softmax`,
        `need_head_weights` and `attn_mask`.
        """
        if incremental_state is not None or attn_mask is not None:
            raise NotImplementedError(
                "incremental_state and attn_mask are not available in this version of torch_npu. "
                "Add the mask to key_padding_mask, or use "
                "torch.nn.functional.scaled_dot_product_attention."
            )
        if static_kv or before_softmax or need_head_weights:
            raise NotImplementedError(
                "static_kv, before_softmax and need_head_weights are not available in this "
                "version of torch_npu. Use torch.nn.MultiheadAttention."
            )
        if key.shape[0] != bsz * s_len:
            raise ValueError(f"key must have {bsz} · {s_len} rows, but has {key.shape[0]}")
        return self.multi_attn(query, key, value, key_padding_mask, bsz, tgt_len), None

    def multi_attn(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        key_padding_mask: torch.Tensor | None,
        bsz: int,
        tgt_len: int,
    ) -> torch.Tensor:
        """`forward` without its checks; the length of the keys follows from their rows."""
        if query.shape[0] != bsz * tgt_len:
            raise ValueError(f"query must have {bsz} · {tgt_len} rows, but has {query.shape[0]}")
        self.batch_size = bsz
        q, k, v = (
            self.transpose_for_scores(project(rows))
            for project, rows in (
                (self.q_proj, query),
                (self.k_proj, key),
                (self.v_proj, value),
            )
        )
        scores = Matmul_transpose(q, k) * self.scaling
        if key_padding_mask is not None:
            scores = scores + key_padding_mask
        source_length = key.shape[0] // bsz
        weights = self.apply_sparse_mask(scores.softmax(-1), tgt_len, source_length, bsz)
        attended = self.dropout_module(weights) @ v
        return self.out_proj(attended.transpose(1, 2).reshape(-1, self.embed_dim))

    def apply_sparse_mask(
        self, attn_weights: torch.Tensor, tgt_len: int, src_len: int, bsz: int
    ) -> torch.Tensor:
        """The weights themselves; for a subclass that attends to a part only."""
        return attn_weights

    def upgrade_state_dict_named(self, state_dict: dict[str, torch.Tensor], name: str) -> None:
        """Splits the joint projection of old checkpoints into those of q, k and v, in place."""
        prefix = f"{name}." if name else ""
        for part in ("weight", "bias"):
            joint = state_dict.pop(f"{prefix}in_proj_{part}", None)
            if joint is None:
                continue
            for projection, rows in zip("qkv", joint.chunk(3), strict=True):
                state_dict[f"{prefix}{projection}_proj.{part}"] = rows
