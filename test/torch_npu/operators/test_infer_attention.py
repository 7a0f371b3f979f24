"""Attention for inference against attention in plain PyTorch."""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

import pytest
import torch

import torch_npu

_SPEC = importlib.util.spec_from_file_location(
    "attention_reference", pathlib.Path(__file__).with_name("attention_reference.py")
)
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)

HEADS, KEY_HEADS, SIZE, BATCH = 4, 2, 16, 2
SCALE = 0.25


def inputs(queries: int = 5, keys: int = 7) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return (
        torch.randn(BATCH, HEADS, queries, SIZE),
        torch.randn(BATCH, KEY_HEADS, keys, SIZE),
        torch.randn(BATCH, KEY_HEADS, keys, SIZE),
    )


def expected(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, hidden: Any = None
) -> tuple[torch.Tensor, torch.Tensor]:
    results = [
        reference.attend(query[i], key[i], value[i], SCALE, hidden) for i in range(query.shape[0])
    ]
    return torch.stack([r[0] for r in results]), torch.stack([r[1] for r in results])


def triangle() -> torch.Tensor:
    return torch.triu(torch.ones(2048, 2048, dtype=torch.bool), 1)


def close(actual: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(actual.cpu(), wanted.to(actual.dtype), atol=1e-5, rtol=1e-5)


def fused(query: Any, key: Any, value: Any, version: int = 1, **options: Any) -> Any:
    """Both versions of the operator by the first one's argument names."""
    options = {"num_heads": HEADS, "num_key_value_heads": KEY_HEADS, "scale": SCALE, **options}
    options = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
    if version == 1:
        return torch_npu.npu_fused_infer_attention_score(
            query.npu(), key.npu(), value.npu(), **options
        )
    names = {
        "num_heads": "num_query_heads",
        "scale": "softmax_scale",
        "softmax_lse_flag": "return_softmax_lse",
        "actual_seq_lengths": "actual_seq_qlen",
        "actual_seq_lengths_kv": "actual_seq_kvlen",
    }
    renamed = {names.get(k, k): v for k, v in options.items()}
    return torch_npu.npu_fused_infer_attention_score_v2(
        query.npu(), key.npu(), value.npu(), **renamed
    )


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    "layout", ["BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD"]
)
def test_layouts(version: int, layout: str) -> None:
    tensors = inputs()
    source, _, target = layout.partition("_")
    out, lse = fused(
        *[reference.to_layout(t, source) for t in tensors],
        version,
        input_layout=layout,
        softmax_lse_flag=True,
    )
    want, sums = expected(*tensors)
    close(out, reference.to_layout(want, target or source))
    close(lse, sums.unsqueeze(-1))


@pytest.mark.covers("torch_npu.npu_fused_infer_attention_score")
def test_logsumexp_that_is_not_wanted_is_one_zero() -> None:
    _, lse = fused(*inputs(), input_layout="BNSD")
    assert torch.equal(lse.cpu(), torch.zeros(1))


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
def test_sparse_modes(mode: int) -> None:
    tensors = inputs(5, 7)
    full = torch.rand(5, 7) < 0.3
    limits = {"pre_tokens": 3, "next_tokens": 1} if mode in (0, 4) else {}
    hidden = reference.hidden(
        mode, 5, 7, full, limits.get("pre_tokens", 99), limits.get("next_tokens", 99)
    )
    out, _ = fused(
        *tensors,
        input_layout="BNSD",
        atten_mask=full.view(1, 1, 5, 7) if mode < 2 else triangle(),
        sparse_mode=mode,
        **limits,
    )
    close(out, expected(*tensors, hidden)[0])


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("batch", [1, BATCH])
def test_position_bias_is_added_after_scaling(version: int, batch: int) -> None:
    query, key, value = inputs(5, 7)
    bias = torch.randn(batch, HEADS, 5, 7)
    out, _ = fused(query, key, value, version, input_layout="BNSD", pse_shift=bias)
    for i in range(BATCH):
        want, _ = reference.attend(
            query[i], key[i], value[i], SCALE, bias=bias[i % batch], bias_scaled=False
        )
        close(out[i], want)


@pytest.mark.parametrize("shape", [(5, 7), (BATCH, 5, 7), (BATCH, 1, 5, 7)])
@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.uint8])
def test_masks_for_all_and_for_each_sequence(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    query, key, value = inputs(5, 7)
    mask = torch.rand(shape) < 0.3
    out, _ = fused(query, key, value, input_layout="BNSD", atten_mask=mask.to(dtype))
    for i in range(BATCH):
        own = mask if mask.dim() == 2 else mask[i].view(5, 7)
        close(out[i], reference.attend(query[i], key[i], value[i], SCALE, own)[0])


def test_lengths_of_each_sequence() -> None:
    query, key, value = inputs(5, 7)
    out, _ = fused(
        query,
        key,
        value,
        input_layout="BNSD",
        actual_seq_lengths=[5, 2],
        actual_seq_lengths_kv=[3, 7],
    )
    close(out[0], reference.attend(query[0], key[0, :, :3], value[0, :, :3], SCALE)[0])
    close(out[1, :, :2], reference.attend(query[1, :, :2], key[1], value[1], SCALE)[0])
    assert torch.equal(out[1, :, 2:].cpu(), torch.zeros(HEADS, 3, SIZE))


def paged(
    batch: torch.Tensor, block: int, form: str, table: torch.Tensor, lengths: list[int]
) -> torch.Tensor:
    """A cache that holds `batch` (batch, heads, length, size) in the blocks of `table`."""
    blocks = int(table.max()) + 1
    cache = torch.full((blocks, block, KEY_HEADS, SIZE), float("nan"))
    for i, length in enumerate(lengths):
        for token in range(length):
            cache[table[i, token // block], token % block] = batch[i, :, token]
    if form == "BnNBsD":
        return cache.transpose(1, 2).contiguous()
    if form == "NZ":
        return cache.unflatten(3, (SIZE // 16, 16)).permute(0, 2, 3, 1, 4).contiguous()
    return cache.flatten(2) if form == "BnBsH" else cache


@pytest.mark.parametrize("form", ["BnBsH", "BnBsND", "BnNBsD", "NZ"])
@pytest.mark.parametrize("queries", [1, 3])
def test_blocks_of_a_paged_cache(form: str, queries: int) -> None:
    query, key, value = inputs(queries, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    lengths = [7, 5]
    out, _ = fused(
        query,
        paged(key, 4, form, table, lengths),
        paged(value, 4, form, table, lengths),
        input_layout="BNSD",
        block_table=table,
        block_size=4,
        actual_seq_lengths_kv=lengths,
    )
    for i, length in enumerate(lengths):
        close(
            out[i], reference.attend(query[i], key[i, :, :length], value[i, :, :length], SCALE)[0]
        )


def test_packed_queries_over_a_paged_cache_with_a_causal_mask() -> None:
    query, key, value = inputs(3, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    keys, queries = [7, 5], [3, 2]
    packed = torch.cat([query[i, :, : queries[i]].transpose(0, 1) for i in range(BATCH)])
    out, lse = fused(
        packed,
        paged(key, 4, "BnBsH", table, keys),
        paged(value, 4, "BnBsH", table, keys),
        input_layout="TND",
        block_table=table,
        block_size=4,
        actual_seq_lengths=[3, 5],
        actual_seq_lengths_kv=keys,
        sparse_mode=3,
        atten_mask=triangle(),
        softmax_lse_flag=True,
    )
    first = 0
    for i in range(BATCH):
        hidden = reference.hidden(3, queries[i], keys[i], triangle())
        want, sums = reference.attend(
            query[i, :, : queries[i]], key[i, :, : keys[i]], value[i, :, : keys[i]], SCALE, hidden
        )
        close(out[first : first + queries[i]], want.transpose(0, 1))
        close(lse[first : first + queries[i], :, 0], sums.t())
        first += queries[i]


@pytest.mark.parametrize("layout", ["TND", "TND_NTD", "NTD_TND"])
def test_packed_layouts(layout: str) -> None:
    query, key, value = inputs(3, 7)
    packed = [
        torch.cat([query[0, :, :1], query[1]], 1),
        torch.cat([key[0, :, :4], key[1]], 1),
        torch.cat([value[0, :, :4], value[1]], 1),
    ]
    if layout.startswith("TND"):
        packed = [t.transpose(0, 1).contiguous() for t in packed]
    out, _ = fused(
        *packed, input_layout=layout, actual_seq_lengths=[1, 4], actual_seq_lengths_kv=[4, 11]
    )
    want = torch.cat(
        [
            reference.attend(query[0, :, :1], key[0, :, :4], value[0, :, :4], SCALE)[0],
            reference.attend(query[1], key[1], value[1], SCALE)[0],
        ],
        1,
    )
    close(out, want if layout.endswith("NTD") else want.transpose(0, 1))


def test_rope_part_continues_query_and_key() -> None:
    query, key, value = inputs(3, 5)
    query_rope = torch.randn(BATCH, HEADS, 3, 8)
    key_rope = torch.randn(BATCH, KEY_HEADS, 5, 8)
    out, _ = fused(query, key, value, input_layout="BNSD", query_rope=query_rope, key_rope=key_rope)
    close(
        out, expected(torch.cat([query, query_rope], -1), torch.cat([key, key_rope], -1), value)[0]
    )


def test_sink_takes_part_in_the_sum() -> None:
    query, key, value = inputs(3, 5)
    sink = torch.randn(HEADS)
    out, _ = fused(query, key, value, 2, input_layout="BNSD", learnable_sink=sink)
    want, sums = expected(query, key, value)
    share = torch.sigmoid(sums - sink.view(1, HEADS, 1)).unsqueeze(-1)
    close(out, want * share)


@pytest.mark.parametrize("version", [1, 2])
def test_outputs_and_workspace_of_the_caller(version: int) -> None:
    query, key, value = [t.npu() for t in inputs()]
    name = f"npu_fused_infer_attention_score{'' if version == 1 else '_v2'}"
    options: dict[str, Any] = {"input_layout": "BNSD", "num_key_value_heads": KEY_HEADS}
    options |= (
        {"num_heads": HEADS, "scale": SCALE}
        if version == 1
        else {"num_query_heads": HEADS, "softmax_scale": SCALE}
    )
    workspace = getattr(torch_npu, f"_{name}_get_max_workspace")(query, key, value, **options)
    out, lse = torch.empty_like(query), torch.empty(1, device="npu")
    getattr(torch_npu, name).out(query, key, value, **options, workspace=workspace, out=[out, lse])
    close(out, expected(query.cpu(), key.cpu(), value.cpu())[0])
    with pytest.raises(RuntimeError, match="attention_out"):
        getattr(torch_npu, name).out(query, key, value, **options, out=[out[:1], lse])


@pytest.mark.covers("torch_npu.npu_prompt_flash_attention")
def test_prompt_attention() -> None:
    tensors = inputs()
    out = torch_npu.npu_prompt_flash_attention(
        *[reference.to_layout(t, "BSH").npu() for t in tensors],
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BSH",
        atten_mask=triangle().npu(),
        sparse_mode=2,
    )
    hidden = reference.hidden(2, 5, 7, triangle())
    close(out, reference.to_layout(expected(*tensors, hidden)[0], "BSH"))


@pytest.mark.covers("torch_npu.npu_incre_flash_attention")
def test_incremental_attention() -> None:
    query, key, value = inputs(1, 7)
    out = torch_npu.npu_incre_flash_attention(
        query.npu(),
        key.npu(),
        value.npu(),
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BNSD",
        actual_seq_lengths=[7, 4],
    )
    close(out[0], reference.attend(query[0], key[0], value[0], SCALE)[0])
    close(out[1], reference.attend(query[1], key[1, :, :4], value[1, :, :4], SCALE)[0])


def test_incremental_attention_over_a_paged_cache() -> None:
    query, key, value = inputs(1, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    lengths = [7, 5]
    out = torch_npu.npu_incre_flash_attention(
        query.npu(),
        paged(key, 4, "BnBsH", table, lengths).npu(),
        paged(value, 4, "BnBsH", table, lengths).npu(),
        num_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        scale_value=SCALE,
        input_layout="BNSD",
        actual_seq_lengths=lengths,
        block_table=table.npu(),
        block_size=4,
    )
    for i, length in enumerate(lengths):
        close(
            out[i], reference.attend(query[i], key[i, :, :length], value[i, :, :length], SCALE)[0]
        )


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"quant_scale2": torch.ones(1)}, NotImplementedError, "argument quant_scale2"),
        ({"num_heads": 3}, RuntimeError, "heads"),
        ({"input_layout": "XYZ"}, (ValueError, RuntimeError), "layout"),
        ({"query_rope": torch.ones(2, 4, 5, 8)}, RuntimeError, "query_rope and key_rope"),
        ({"actual_seq_lengths_kv": [9, 9]}, RuntimeError, "lengths"),
        (
            {"sparse_mode": 7, "atten_mask": torch.zeros(5, 7).bool()},
            NotImplementedError,
            "sparse_mode 7",
        ),
    ],
)
def test_bad_arguments_are_refused(options: dict[str, Any], error: Any, match: str) -> None:
    with pytest.raises(error, match=match):
        fused(*inputs(), **{"input_layout": "BNSD", **options})


def test_fake_tensors_have_the_outputs_sizes() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        query = torch.empty(6, HEADS, SIZE, device="npu")
        cache = torch.empty(9, 4, KEY_HEADS * SIZE, device="npu")
        out, lse = torch_npu.npu_fused_infer_attention_score(
            query,
            cache,
            cache,
            num_heads=HEADS,
            num_key_value_heads=KEY_HEADS,
            input_layout="TND",
            block_table=torch.empty(2, 2, dtype=torch.int32, device="npu"),
            block_size=4,
            actual_seq_lengths=[2, 6],
            actual_seq_lengths_kv=[5, 6],
            softmax_lse_flag=True,
        )
    assert out.shape == query.shape
    assert lse.shape == (6, HEADS, 1)


def test_paged_attention_of_one_token_for_each_sequence() -> None:
    query, key, value = inputs(1, 7)
    table = torch.tensor([[3, 1], [0, 4]], dtype=torch.int32)
    lengths = [7, 5]
    out = torch.empty(BATCH, HEADS, SIZE, device="npu")
    arguments = (
        query[:, :, 0].npu(),
        paged(key, 4, "BnBsND", table, lengths).npu(),
        paged(value, 4, "BnBsND", table, lengths).npu(),
        KEY_HEADS,
        HEADS,
        SCALE,
        table.npu(),
        torch.tensor(lengths, dtype=torch.int32),
        out,
    )
    workspace = torch_npu._npu_paged_attention_get_workspace(*arguments)
    torch_npu._npu_paged_attention(*arguments, workspace=workspace)
    for i, length in enumerate(lengths):
        want, _ = reference.attend(query[i], key[i, :, :length], value[i, :, :length], SCALE)
        close(out[i], want[:, 0])
    with pytest.raises(RuntimeError, match="_npu_paged_attention: expected out like the query"):
        torch_npu._npu_paged_attention(*arguments[:-1], out[:1])
