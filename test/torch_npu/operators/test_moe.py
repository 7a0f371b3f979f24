"""Routing of tokens to experts against loops in plain PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import torch_npu


@pytest.mark.parametrize("norm_type", [0, 1])
@pytest.mark.parametrize("select_mode", [0, 1])
@pytest.mark.parametrize("biased", [False, True])
def test_gating_chooses_within_the_best_groups(
    norm_type: int, select_mode: int, biased: bool
) -> None:
    torch.manual_seed(0)
    x, bias = torch.randn(6, 16), torch.randn(16) if biased else None
    groups, kept, k = 4, 2, 3
    weights = torch.softmax(x, -1) if norm_type == 0 else torch.sigmoid(x)
    scores = weights + bias if biased else weights
    want_values, want_experts = [], []
    for row, score in zip(weights, scores, strict=True):
        parts = score.view(groups, -1)
        worth = [
            part.max() if select_mode == 0 else part.sort(descending=True).values[:2].sum()
            for part in parts
        ]
        best = sorted(range(groups), key=lambda g: -worth[g])[:kept]
        experts = [e for g in best for e in range(g * 4, g * 4 + 4)]
        chosen = sorted(experts, key=lambda e: -score[e])[:k]
        values = row[chosen]
        want_values.append(2.5 * (values / values.sum() if norm_type == 1 else values))
        want_experts.append(chosen)
    y, experts, norm = torch_npu.npu_moe_gating_top_k(
        x.npu(),
        k,
        bias=bias.npu() if biased else None,
        k_group=kept,
        group_count=groups,
        group_select_mode=select_mode,
        norm_type=norm_type,
        out_flag=True,
        routed_scaling_factor=2.5,
    )
    assert experts.dtype == torch.int32
    assert experts.cpu().tolist() == want_experts
    torch.testing.assert_close(y.cpu(), torch.stack(want_values))
    torch.testing.assert_close(norm.cpu(), weights)


@pytest.mark.parametrize("norm_type", [0, 1])
@pytest.mark.parametrize("renorm", [0, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gating_s_gradient(compare: Any, norm_type: int, renorm: int, dtype: torch.dtype) -> None:
    def reference(x: torch.Tensor, k: int, **_: Any) -> Any:
        wide = x.float()
        weights = torch.softmax(wide, -1) if norm_type == 0 else torch.sigmoid(wide)
        values, experts = weights.topk(k)
        if norm_type == 1 or renorm == 1:
            values = values / values.sum(-1, keepdim=True)
        return (2.5 * values).to(x.dtype), experts.int(), weights.detach()

    torch.manual_seed(0)
    x = torch.randn(6, 16).to(dtype).requires_grad_()
    options = {"norm_type": norm_type, "renorm": renorm, "routed_scaling_factor": 2.5}
    compare(torch_npu.npu_moe_gating_top_k, reference, x, 3, **options)


@pytest.mark.parametrize("norm_type", [0, 1])
def test_gating_by_a_table_of_experts(compare: Any, norm_type: int) -> None:
    torch.manual_seed(0)
    ids, table = torch.tensor([2, 0, 2, 3]), torch.stack([torch.randperm(8)[:3] for _ in range(4)])

    def reference(x: torch.Tensor, k: int, **_: Any) -> Any:
        weights = torch.softmax(x, -1) if norm_type == 0 else torch.sigmoid(x)
        values = weights.gather(1, table[ids])
        if norm_type == 1:
            values = values / values.sum(-1, keepdim=True)
        return 2.5 * values, table[ids].int(), weights.detach()

    x = torch.randn(4, 8, requires_grad=True)
    options = {"norm_type": norm_type, "routed_scaling_factor": 2.5}
    compare(
        torch_npu.npu_moe_gating_top_k, reference, x, 3, input_ids=ids, tid2eid=table, **options
    )


def test_gating_by_a_table_needs_both_parts() -> None:
    with pytest.raises(RuntimeError, match="input_ids and tid2eid together"):
        torch_npu.npu_moe_gating_top_k(
            torch.rand(2, 4, device="npu"), 1, input_ids=torch.zeros(2, device="npu").long()
        )


def test_gating_s_backward_refuses_experts_of_another_shape() -> None:
    with pytest.raises(RuntimeError, match="grad_y and expertIdx of the same sizes"):
        torch_npu.npu_moe_gating_top_k_backward(
            torch.rand(2, 4, device="npu"),
            torch.rand(2, 2, device="npu"),
            torch.zeros(2, 3, dtype=torch.int32, device="npu"),
        )


@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 8)])
def test_gating_by_softmax(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    finished = torch.zeros(shape[:-1], dtype=torch.bool)
    finished.view(-1)[1] = True
    y, experts, rows = torch_npu.npu_moe_gating_top_k_softmax(x.npu(), finished.npu(), k=2)
    want = torch.softmax(x, -1).topk(2)
    torch.testing.assert_close(y.cpu(), want.values)
    number = want.indices.masked_fill(finished.unsqueeze(-1), 8)
    assert torch.equal(experts.cpu(), number.int())
    count = x.numel() // 8
    assert torch.equal(rows.cpu().view(count, 2), torch.arange(2 * count).view(2, count).t().int())


@pytest.mark.parametrize("shape", [(5, 8), (2, 3, 8)])
@pytest.mark.parametrize("renorm", [0, 1])
@pytest.mark.parametrize("whole", [False, True])
def test_gating_by_softmax_before_or_after_the_choice(
    shape: tuple[int, ...], renorm: int, whole: bool
) -> None:
    torch.manual_seed(0)
    x = torch.randn(shape)
    finished = torch.zeros(shape[:-1], dtype=torch.bool)
    finished.view(-1)[1] = True
    y, experts, softmax = torch_npu.npu_moe_gating_top_k_softmax_v2(
        x.npu(), k=2, finished=finished.npu(), renorm=renorm, output_softmax=whole
    )
    weights = torch.softmax(x, -1)
    want = (x if renorm else weights).topk(2)
    torch.testing.assert_close(y.cpu(), want.values.softmax(-1) if renorm else want.values)
    number = want.indices.masked_fill(finished.unsqueeze(-1), 8)
    assert torch.equal(experts.cpu(), number.int())
    if whole and not renorm:
        torch.testing.assert_close(softmax.cpu(), weights)
    else:
        assert softmax.shape == (0,)


def test_gating_by_softmax_refuses_another_order() -> None:
    with pytest.raises(RuntimeError, match="renorm"):
        torch_npu.npu_moe_gating_top_k_softmax_v2(torch.randn(2, 4, device="npu"), renorm=2)


def test_k_beyond_the_experts_is_refused() -> None:
    with pytest.raises(RuntimeError, match="expected k from 1"):
        torch_npu.npu_moe_gating_top_k_softmax(torch.randn(2, 4, device="npu"), k=5)


@pytest.mark.parametrize("active", [2, 4, 9])
def test_init_routing_sorts_tokens_by_expert(active: int) -> None:
    torch.manual_seed(0)
    rows, k = 4, 2
    x = torch.randn(rows, 3)
    experts = torch.randint(0, 5, (rows, k), dtype=torch.int32)
    row_idx = torch.arange(rows * k).view(k, rows).t().int().contiguous()
    expanded, positions, sorted_experts = torch_npu.npu_moe_init_routing(
        x.npu(), row_idx.npu(), experts.npu(), active
    )
    order = torch.argsort(experts.flatten(), stable=True)
    sources = row_idx.flatten()[order].long()
    kept = min(active, rows) * k
    assert torch.equal(expanded.cpu(), x[sources[:kept] % rows])
    want = torch.empty(rows * k, dtype=torch.int32)
    want[sources] = torch.arange(rows * k, dtype=torch.int32)
    assert torch.equal(positions.cpu(), want)
    assert torch.equal(sorted_experts.cpu(), experts.flatten()[order])


def routed(experts: torch.Tensor, first: int, last: int) -> list[tuple[int, int]]:
    """(expert, source) of the choices within [first, last), by expert and then by source."""
    choices = [(int(e), i) for i, e in enumerate(experts.flatten()) if first <= e < last]
    return sorted(choices)


@pytest.mark.parametrize("active_range", [[], [1, 4]])
@pytest.mark.parametrize("row_idx_type", [0, 1])
def test_init_routing_v2_without_drops(active_range: list[int], row_idx_type: int) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 3)
    experts = torch.randint(0, 6, (5, 2), dtype=torch.int32)
    first, last = active_range or [0, 6]
    expanded, positions, counts, _ = torch_npu.npu_moe_init_routing_v2(
        x.npu(),
        experts.npu(),
        expert_num=6,
        expert_tokens_num_flag=True,
        expert_tokens_num_type=1,
        active_expert_range=active_range,
        row_idx_type=row_idx_type,
    )
    choices = routed(experts, first, last)
    sources = [source for _, source in choices]
    assert torch.equal(expanded.cpu()[: len(sources)], x[[s // 2 for s in sources]])
    if row_idx_type == 1:
        assert positions.cpu().tolist()[: len(sources)] == sources
    else:
        want = [sources.index(i) if i in sources else -1 for i in range(10)]
        assert positions.cpu().tolist() == want
    assert counts.cpu().tolist() == [
        sum(expert == e for expert, _ in choices) for e in range(first, last)
    ]


@pytest.mark.parametrize("count_type", [0, 2])
def test_init_routing_v2_counts_in_other_forms(count_type: int) -> None:
    experts = torch.tensor([[0, 3], [3, 1]], dtype=torch.int32)
    counts = torch_npu.npu_moe_init_routing_v2(
        torch.randn(2, 4, device="npu"),
        experts.npu(),
        expert_num=4,
        expert_tokens_num_flag=True,
        expert_tokens_num_type=count_type,
    )[2].cpu()
    if count_type == 0:
        assert counts.tolist() == [1, 2, 2, 4]
    else:
        assert counts.tolist() == [[0, 1], [1, 1], [3, 2], [0, 0]]


def test_init_routing_v2_drops_beyond_the_capacity() -> None:
    x = torch.arange(12.0).view(4, 3)
    experts = torch.tensor([[0, 1], [1, 0], [1, 2], [1, 0]], dtype=torch.int32)
    expanded, positions, _, _ = torch_npu.npu_moe_init_routing_v2(
        x.npu(), experts.npu(), expert_num=3, expert_capacity=2, drop_pad_mode=1
    )
    assert expanded.shape == (3, 2, 3)
    want = torch.zeros(3, 2, 3)
    place, used = [-1] * 8, [0, 0, 0]
    for expert, source in routed(experts, 0, 3):
        if used[expert] < 2:
            want[expert, used[expert]] = x[source // 2]
            place[source] = expert * 2 + used[expert]
            used[expert] += 1
    assert torch.equal(expanded.cpu(), want)
    assert positions.cpu().tolist() == place


def test_init_routing_v2_quantises_rows() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    experts = torch.randint(0, 3, (4, 2), dtype=torch.int32)
    expanded, _, _, scale = torch_npu.npu_moe_init_routing_v2(
        x.npu(), experts.npu(), expert_num=3, quant_mode=1
    )
    rows = x[[source // 2 for _, source in routed(experts, 0, 3)]]
    want = rows.abs().amax(-1) / 127
    assert expanded.dtype == torch.int8
    torch.testing.assert_close(scale.cpu(), want)
    assert torch.equal(expanded.cpu(), (rows / want.unsqueeze(-1)).round().to(torch.int8))


def test_init_routing_v2_quantises_with_given_scale() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 8)
    experts = torch.randint(0, 3, (4, 2), dtype=torch.int32)
    scale, offset = torch.tensor([30.0]), torch.tensor([2.0])
    expanded = torch_npu.npu_moe_init_routing_v2(
        x.npu(), experts.npu(), scale=scale.npu(), offset=offset.npu(), expert_num=3, quant_mode=0
    )[0]
    rows = x[[source // 2 for _, source in routed(experts, 0, 3)]]
    want = (rows * scale + offset).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(expanded.cpu(), want)


def test_init_routing_v2_gives_each_row_its_scale() -> None:
    experts = torch.tensor([[2, 0], [1, 2]], dtype=torch.int32)
    scale = torch.tensor([0.5, 0.25])
    expanded_scale = torch_npu.npu_moe_init_routing_v2(
        torch.randn(2, 4, device="npu"), experts.npu(), scale=scale.npu(), expert_num=3
    )[3]
    rows = [source // 2 for _, source in routed(experts, 0, 3)]
    assert torch.equal(expanded_scale.cpu(), scale[rows])


def test_init_routing_v2_refuses_other_quantisation() -> None:
    with pytest.raises(NotImplementedError, match="npu_moe_init_routing_v2: quant_mode 6"):
        torch_npu.npu_moe_init_routing_v2(
            torch.randn(2, 4, device="npu"),
            torch.zeros(2, 1, dtype=torch.int32, device="npu"),
            expert_num=2,
            quant_mode=6,
        )


@pytest.mark.parametrize("mode", [0, 2])
@pytest.mark.parametrize("skips", [0, 1, 2])
@pytest.mark.covers("torch_npu.npu_moe_finalize_routing")
def test_finalize_routing_adds_what_the_experts_gave(mode: int, skips: int) -> None:
    torch.manual_seed(0)
    rows, k, experts = 4, 2, 3
    expanded = torch.randn(rows * k, 5)
    skip = [torch.randn(rows, 5) if i < skips else None for i in range(2)]
    bias, scales = torch.randn(experts, 5), torch.rand(rows, k)
    positions = torch.randperm(rows * k).int()
    chosen = torch.randint(0, experts, (rows, k)).int()
    want = torch.zeros(rows, 5)
    for part in skip:
        want += part if part is not None else 0
    for i in range(rows):
        for j in range(k):
            place = positions[j * rows + i] if mode == 0 else positions[i * k + j]
            want[i] += scales[i, j] * (expanded[place] + bias[chosen[i, j]])
    out = torch_npu.npu_moe_finalize_routing(
        expanded.npu(),
        *[part.npu() if part is not None else None for part in skip],
        bias.npu(),
        scales.npu(),
        positions.npu(),
        chosen.npu(),
        mode,
    )
    torch.testing.assert_close(out.cpu(), want)


@pytest.mark.parametrize("mode", [1, 3])
def test_finalize_routing_of_experts_with_a_capacity(mode: int) -> None:
    torch.manual_seed(0)
    rows, k, experts, capacity = 3, 2, 4, 2
    expanded, scales = torch.randn(experts, capacity, 5), torch.rand(rows, k)
    positions = torch.tensor([5, -1, 0, 7, 2, -1], dtype=torch.int32)
    want = torch.zeros(rows, 5)
    for i in range(rows):
        for j in range(k):
            place = int(positions[j * rows + i] if mode == 1 else positions[i * k + j])
            if place >= 0:
                want[i] += scales[i, j] * expanded.view(-1, 5)[place]
    out = torch_npu.npu_moe_finalize_routing(
        expanded.npu(), None, None, None, scales.npu(), positions.npu(), None, mode
    )
    torch.testing.assert_close(out.cpu(), want)


def test_finalize_routing_leaves_dropped_tokens_out() -> None:
    out = torch_npu.npu_moe_finalize_routing(
        torch.ones(2, 3, device="npu"),
        None,
        None,
        None,
        None,
        torch.tensor([1, -1], dtype=torch.int32, device="npu"),
        None,
    )
    assert torch.equal(out.cpu(), torch.tensor([[1.0] * 3, [0.0] * 3]))


def permute(tokens: torch.Tensor, indices: torch.Tensor, kept: int | None = None) -> Any:
    order = torch.argsort(indices.flatten(), stable=True)
    k = 1 if indices.dim() == 1 else indices.shape[1]
    return tokens[order[: kept or None] // k], torch.argsort(order).int()


def unpermute(
    permuted: torch.Tensor, positions: torch.Tensor, probs: torch.Tensor | None = None
) -> torch.Tensor:
    k = probs.shape[1] if probs is not None else 1
    padded = torch.cat([permuted, permuted.new_zeros(len(positions), permuted.shape[1])])
    rows = padded[positions.long()].view(-1, k, permuted.shape[1]).float()
    if probs is not None:
        rows = rows * probs.unsqueeze(-1).float()
    return rows.sum(1).to(permuted.dtype)


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("kept", [None, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_permute_and_its_gradient(compare: Any, k: int, kept: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    tokens = torch.randn(6, 4).to(dtype).requires_grad_()
    indices = torch.randint(0, 4, (6, k) if k else (6,))
    compare(torch_npu.npu_moe_token_permute, permute, tokens, indices, kept)


@pytest.mark.parametrize("with_probs", [False, True])
@pytest.mark.parametrize("dropped", [0, 2])
def test_unpermute_and_its_gradients(compare: Any, with_probs: bool, dropped: int) -> None:
    torch.manual_seed(0)
    positions = torch.randperm(6).int()
    permuted = torch.randn(6 - dropped, 4).requires_grad_()
    probs = torch.rand(3, 2).requires_grad_() if with_probs else None
    compare(torch_npu.npu_moe_token_unpermute, unpermute, permuted, positions, probs)


@pytest.mark.covers("torch_npu.npu_moe_token_permute", "torch_npu.npu_moe_token_unpermute")
def test_unpermute_undoes_permute() -> None:
    tokens = torch.randn(6, 4, device="npu")
    permuted, positions = torch_npu.npu_moe_token_permute(
        tokens, torch.randint(0, 3, (6,), device="npu")
    )
    assert torch.equal(torch_npu.npu_moe_token_unpermute(permuted, positions).cpu(), tokens.cpu())


def test_padded_mode_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="npu_moe_token_permute: padded_mode"):
        torch_npu.npu_moe_token_permute(
            torch.ones(2, 2, device="npu"),
            torch.zeros(2, dtype=torch.int64, device="npu"),
            padded_mode=True,
        )
