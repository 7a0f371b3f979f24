"""One graph of torch.compile serves all sizes of Ascend's own operators, with the right values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils import _pytree

import torch_npu

EXPERTS, SIZE = 6, 16


def ones(*sizes: int, **options: Any) -> torch.Tensor:
    return torch.ones(*sizes, device="npu", **options)


def rotary(x: torch.Tensor) -> Any:
    rows = x.view(1, -1, 1, SIZE)
    return torch_npu.npu_rotary_mul(rows, rows.sin(), rows.cos())


def indices(x: torch.Tensor) -> torch.Tensor:
    """The experts of each row, two of them."""
    chosen = x.argsort(dim=-1)[:, :2] % EXPERTS
    return chosen.to(torch.int32)


def routed(x: torch.Tensor) -> Any:
    return torch_npu.npu_moe_init_routing_v2(
        x,
        indices(x),
        active_num=-1,
        expert_num=EXPERTS,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, EXPERTS],
        row_idx_type=0,
    )[:3]


def padded(x: torch.Tensor) -> Any:
    return torch_npu.npu_moe_init_routing_v2(
        x,
        indices(x),
        expert_num=EXPERTS,
        expert_capacity=4,
        drop_pad_mode=1,
        expert_tokens_num_type=1,
        expert_tokens_num_flag=True,
        active_expert_range=[0, EXPERTS],
        row_idx_type=0,
    )[:3]


def routed_first(x: torch.Tensor) -> Any:
    rows = torch.arange(2 * x.shape[0], device=x.device, dtype=torch.int32)
    return torch_npu.npu_moe_init_routing(x, rows.view(2, -1).t().contiguous(), indices(x), 4)


def permuted(x: torch.Tensor) -> Any:
    tokens, order = torch_npu.npu_moe_token_permute(x, indices(x))
    probabilities = indices(x).float().softmax(-1)
    return tokens, torch_npu.npu_moe_token_unpermute(tokens, order, probabilities)


def finalized(x: torch.Tensor) -> Any:
    chosen = indices(x)
    places = torch.arange(2 * x.shape[0], device=x.device, dtype=torch.int32)
    return torch_npu.npu_moe_finalize_routing(
        x.repeat(2, 1), x, None, None, chosen.float(), places, chosen
    )


def quantized_product(x: torch.Tensor) -> Any:
    weight = ones(SIZE, 8, dtype=torch.int8)
    return torch_npu.npu_quant_matmul(
        x.mul(10).round().to(torch.int8), weight, ones(8), output_dtype=torch.float16
    )


def grouped_product(x: torch.Tensor) -> Any:
    groups = torch.full((2,), 1, device=x.device).mul(x.shape[0]).sub(ones(2).to(torch.int64))
    groups = torch.stack([groups[0], groups[0] + 1])
    return torch_npu.npu_grouped_matmul(
        [x], [ones(2, SIZE, 8)], group_list=groups, group_type=0, split_item=3
    )


def quantized_norm(x: torch.Tensor) -> Any:
    """What `output_mask` wants, and the sum."""
    half = x.half()
    quantized, _, added, scale, _ = torch_npu.npu_add_rms_norm_dynamic_quant(
        half, half, ones(SIZE).half(), output_mask=[True, False]
    )
    return quantized, added, scale


CALLS: dict[str, Callable[[torch.Tensor], Any]] = {
    "swiglu": torch_npu.npu_swiglu,
    "clipped swiglu": torch_npu.npu_clipped_swiglu,
    "geglu": torch_npu.npu_geglu,
    "fast gelu": torch_npu.npu_fast_gelu,
    "rms norm": lambda x: torch_npu.npu_rms_norm(x, ones(SIZE)),
    "add rms norm": lambda x: torch_npu.npu_add_rms_norm(x, x, ones(SIZE)),
    "add rms norm, quantised": quantized_norm,
    "dynamic quantisation": lambda x: torch_npu.npu_dynamic_quant(x.half()),
    "asymmetric quantisation": lambda x: torch_npu.npu_dynamic_quant_asymmetric(x.half()),
    "quantisation": lambda x: torch_npu.npu_quantize(
        x, ones(SIZE), None, torch.qint8, axis=-1, div_mode=True
    ),
    "quantisation to int4": lambda x: torch_npu.npu_quantize(
        x, ones(1), None, torch.quint4x2, axis=-1, div_mode=False
    ),
    "packed int4": lambda x: torch_npu.npu_convert_weight_to_int4pack(
        x.round().clamp(-8, 7).to(torch.int32)
    ),
    "rotary positions": rotary,
    "gating": lambda x: torch_npu.npu_moe_gating_top_k_softmax(x, k=2),
    "gating, version 2": lambda x: torch_npu.npu_moe_gating_top_k_softmax_v2(x, k=2),
    "gating by groups": lambda x: torch_npu.npu_moe_gating_top_k(x, 2),
    "routing": routed_first,
    "routing, version 2": routed,
    "routing with a capacity": padded,
    "permutation": permuted,
    "finalisation": finalized,
    "quantised product": quantized_product,
    "product with a quantised weight": lambda x: torch_npu.npu_weight_quant_batchmatmul(
        x.half(), ones(SIZE, 8, dtype=torch.int8), ones(1, 8).half()
    ),
    "grouped product": grouped_product,
    "product of batches": lambda x: torch_npu.npu_transpose_batchmatmul(
        x.half().view(-1, 1, SIZE).repeat(1, 3, 1),
        ones(3, SIZE, 8).half(),
        perm_x1=[1, 0, 2],
    ),
    "top k and top p": lambda x: torch_npu.npu_top_k_top_p(x, ones(x.shape[0]) * 0.9, None),
    "box overlap": lambda x: torch_npu.npu_iou(x[:, :4].abs(), x[:, 4:8].abs()),
    "box overlap, generalised": lambda x: torch_npu.npu_giou(x[:, :4].t(), x[:, 4:8].t()),
    "interleaved positions": lambda x: torch_npu.npu_interleave_rope(
        x.view(1, -1, 1, SIZE), x.view(1, -1, 1, SIZE), x.view(1, -1, 1, SIZE)
    ),
    "cross entropy": lambda x: torch_npu.npu_cross_entropy_loss(x, indices(x)[:, 0].long())[:2],
    "update of places": lambda x: torch_npu.npu_scatter_nd_update(
        x, torch.zeros(1, 1, dtype=torch.int64, device=x.device), x[-1:]
    ),
    "gradient of linear": lambda x: torch_npu.npu_linear_backward(x, x, ones(SIZE, SIZE)),
    "linear": lambda x: torch_npu.npu_linear(x, ones(8, SIZE)),
}


def same(first: Any, second: Any) -> bool:
    pairs = list(
        zip(_pytree.tree_leaves(first), _pytree.tree_leaves(second), strict=True),
    )
    return bool(pairs) and all(
        a.shape == b.shape and a.dtype == b.dtype and torch.equal(a.cpu(), b.cpu())
        for a, b in pairs
    )


@pytest.mark.parametrize("name", CALLS)
def test_one_graph_serves_all_sizes(name: str) -> None:
    counter = CompileCounterWithBackend("aot_eager")
    torch._dynamo.reset()
    compiled = torch.compile(CALLS[name], backend=counter, dynamic=True, fullgraph=True)
    for rows in (5, 7, 9, 13):
        torch.manual_seed(rows)
        x = torch.randn(rows, SIZE).npu()
        torch._dynamo.mark_static(x, 1)
        assert same(compiled(x), CALLS[name](x)), rows
    assert counter.frame_count == 1
